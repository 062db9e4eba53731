package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestUnifiedDiff(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	tests := []struct{ name, before, after, want string }{
		{"same", ten, ten, ""},
		{"change", ten, strings.Replace(ten, "5\n", "five\n", 1),
			"@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"first and last", ten, "0\n" + strings.TrimSuffix(ten, "10\n"),
			"@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,3 @@\n 7\n 8\n 9\n-10\n"},
		{"near changes are one", ten, strings.NewReplacer("3\n", "", "8\n", "").Replace(ten),
			"@@ -1,10 +1,8 @@\n 1\n 2\n-3\n 4\n 5\n 6\n 7\n-8\n 9\n 10\n"},
		{"no line end", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{"to nothing", "a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
	}
	for _, test := range tests {
		want := test.want
		if want != "" {
			want = "--- a/x.go\n+++ b/x.go\n" + want
		}
		if got := unifiedDiff("x.go", []byte(test.before), []byte(test.after)); got != want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, want)
		}
	}
	if got, want := unifiedDiff("x.go", nil, []byte("a\n")), "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1,1 @@\n+a\n"; got != want {
		t.Errorf("new file: got\n%swant\n%s", got, want)
	}
	if got, want := unifiedDiff("x.go", []byte("a\n"), nil), "--- a/x.go\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"; got != want {
		t.Errorf("removed file: got\n%swant\n%s", got, want)
	}
}

// TestDiffLinesRebuilds checks on random inputs that the edits lead from one
// version to the other and are no more than the number of all lines.
func TestDiffLinesRebuilds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	random := func() []string {
		list := make([]string, r.IntN(12))
		for i := range list {
			list[i] = fmt.Sprintln(r.IntN(4))
		}
		return list
	}
	for range 2000 {
		a, b := random(), random()
		var before, after []string
		for _, e := range diffLines(a, b) {
			if e.kind != '+' {
				if e.a != len(before) {
					t.Fatalf("line number %d, want %d", e.a, len(before))
				}
				before = append(before, e.text)
			}
			if e.kind != '-' {
				if e.b != len(after) {
					t.Fatalf("line number %d, want %d", e.b, len(after))
				}
				after = append(after, e.text)
			}
		}
		if strings.Join(before, "") != strings.Join(a, "") || strings.Join(after, "") != strings.Join(b, "") {
			t.Fatalf("%q to %q: edits rebuild %q and %q", a, b, before, after)
		}
	}
}
