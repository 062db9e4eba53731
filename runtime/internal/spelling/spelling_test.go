package spelling

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"run", "table", "version", "ls", "größe"}
	for word, want := range map[string]string{
		"rnu":     "run", // three letters are the fewest in which a swap is forgiven
		"sl":      "",
		"tbale":   "table",
		"verison": "version",
		"evrsoin": "", // one swap, not two
		"tables":  "table",
		"tbl":     "table",
		"rs":      "ls",
		"l":       "", // nothing of it would be left
		"gröe":    "größe",
		"groesse": "", // letters are counted: ö and ß are one each
		"xyz":     "",
		"":        "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestNearestOfEqual: the order of the words decides, not chance.
func TestNearestOfEqual(t *testing.T) {
	t.Parallel()
	if got := Nearest("tablx", []string{"tably", "table"}); got != "tably" {
		t.Errorf("got %q, want the first of two that are equally near", got)
	}
}
