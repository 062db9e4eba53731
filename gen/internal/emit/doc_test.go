package emit

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"golang.org/x/tools/imports"
)

// B-103: whatever a user's comment says, it stays a comment.
func TestUserDocStaysComment(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"ends */ here",
		"*/\nfunc init() { panic(1) }\n/*",
		"// twice\n//go:build ignore\n//go:noinline",
		"+build ignore\n\t+build ignore\n  +build never",
		"a\r\nfunc init() {}\rfunc init() {}",
		"/* open",
		"\n\n  \n",
		"line\n\n\n\nline after empty ones   ",
		"# Heading\n\n\tcode()\n  - list",
		"go:embed x\nline go:generate rm",
		"`back` \"quotes\" \\ \x00 \u2028 世界",
	} {
		lines := withUserDoc(doc("F is one."), text)
		src := "package p\n\n" + strings.Join(lines, "\n") + "\nfunc F() {}\n"
		out, err := imports.Process("x.go", []byte(src), &imports.Options{FormatOnly: true, Comments: true})
		if err != nil && strings.Contains(text, "\x00") {
			continue // no source can hold it, so no comment of a user does
		}
		if err != nil {
			t.Errorf("%q: %v in\n%s", text, err, src)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", out, parser.ParseComments)
		if err != nil || len(f.Decls) != 1 || len(f.Comments) != 1 {
			t.Errorf("%q became more than a comment (%v):\n%s", text, err, out)
			continue
		}
		for _, line := range strings.Split(string(out), "\n") {
			if strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "// +build") || strings.HasPrefix(line, "//+build") {
				t.Errorf("%q became a directive: %s", text, line)
			}
		}
	}
}

func TestDocWraps(t *testing.T) {
	t.Parallel()
	lines := doc(strings.Repeat("größe ", 40) + strings.Repeat("x", 100) + " end")
	for i, line := range lines {
		if n := len([]rune(line)); n > docWidth && !strings.Contains(line, "xxx") {
			t.Errorf("line %d has %d columns: %s", i, n, line)
		}
	}
	if got := len(lines); got != 6 {
		t.Errorf("got %d lines: %q", got, lines)
	}
}
