package diag

import (
	"flag"
	"fmt"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "re-record golden files")

const reference = "../../../docs/reference/diagnostics.md"

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	if *update {
		if err := os.WriteFile(reference, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Reference() {
		t.Errorf("%s is not what the catalogue says; re-record it with -update", reference)
	}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^TWS\d{3}$`)
	last := Code("")
	for _, e := range Catalogue() {
		if !form.MatchString(string(e.Code)) || e.Code <= last {
			t.Errorf("code %s has the wrong form or stands behind %s", e.Code, last)
		}
		last = e.Code
		if e.Title == "" || len(strings.TrimSpace(e.Text)) < 40 {
			t.Errorf("%s is not explained", e.Code)
		}
		if got, ok := Explain(strings.ToLower(string(e.Code))); !ok || got != e {
			t.Errorf("Explain does not find %s", e.Code)
		}
	}
	if _, ok := Explain("TWS999"); ok {
		t.Error("Explain finds a code that does not exist")
	}
}

// TestCodesAreExplained reads the constants from the source, so that none can be
// forgotten.
func TestCodesAreExplained(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("code.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code = "(TWS\d+)"`).FindAllStringSubmatch(string(src), -1)
	if len(codes) != len(catalogue) {
		t.Errorf("%d codes, %d entries", len(codes), len(catalogue))
	}
	for _, m := range codes {
		if _, ok := Explain(m[1]); !ok {
			t.Errorf("%s is not in the catalogue", m[1])
		}
	}
}

func position(file string, line, column int) token.Position {
	return token.Position{Filename: file, Line: line, Column: column}
}

func TestWriteSortsAndLimits(t *testing.T) {
	t.Parallel()
	var l List
	for i := Limit + 7; i > 0; i-- {
		l.Add(position("/src/b.go", i, 1), Name, "fix it", "fault %d", i)
	}
	l.Add(position("/src/a.go", 9, 2), Name, "fix it", "first file")
	l.Add(position("/src/a.go", 9, 2), Name, "fix it", "first file") // said twice, listed once
	var b strings.Builder
	if err := l.Write(&b, "/src"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	want := []string{
		"a.go:9:2: error[TWS013]: first file", "\tfix: fix it",
		"b.go:1:1: error[TWS013]: fault 1", "\tfix: fix it",
	}
	if !slices.Equal(lines[:4], want) {
		t.Errorf("got %q, want %q", lines[:4], want)
	}
	if last := lines[len(lines)-1]; last != "and 8 more" || len(lines) != 2*Limit+1 {
		t.Errorf("%d lines, the last is %q", len(lines), last)
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dir, path, want string }{
		{"/a/b", "/a/b/c.go", "c.go"},
		{"/a/b", "/a/x/c.go", "../x/c.go"},
		{"/a/b", "tws.lock.json", "tws.lock.json"},
		{"", "/a/c.go", "/a/c.go"},
	} {
		if got := Relative(test.dir, test.path); got != test.want {
			t.Errorf("Relative(%q, %q) is %q, want %q", test.dir, test.path, got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	candidates := []string{"target", "name", "once"}
	for word, want := range map[string]string{
		"tagret": "target", "Name": "name", "onse": "once", "comment": "", "": "", "nme": "name", "ocne": "once", "x": "",
	} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", word, got, want)
		}
	}
}

func ExampleDiagnostic() {
	d := Diagnostic{
		Pos:     position("sensors.go", 3, 7),
		Code:    OptionValue,
		Message: "ttl=0 is not above zero",
		Fix:     "remove the option",
	}
	fmt.Println(d.Error())
	// Output:
	// sensors.go:3:7: error[TWS012]: ttl=0 is not above zero
	// 	fix: remove the option
}
