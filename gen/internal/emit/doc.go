package emit

import (
	"go/types"
	"strings"
	"unicode/utf8"

	"github.com/tws-go/tws/gen/internal/plan"
)

// docWidth is where comments are wrapped.
const docWidth = 80

// doc wraps text into the lines of a comment.
func doc(text string) []string {
	var lines []string
	line := "//"
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > docWidth && line != "//" {
			lines = append(lines, line)
			line = "//"
		}
		line += " " + word
	}
	return append(lines, line)
}

// withUserDoc adds the user's own documentation, a paragraph of its own, as it
// is. Whatever it says, it stays a comment: every line gets its own slashes.
func withUserDoc(lines []string, text string) []string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return lines
	}
	lines = append(lines, "//")
	for line := range strings.Lines(text) {
		lines = append(lines, commentLine(line))
	}
	return lines
}

func commentLine(text string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r", " "), " \t\n")
	if strings.HasPrefix(strings.TrimSpace(text), "+build") {
		text = "(" + strings.TrimSpace(text) + ")" // no build constraint, however old
	}
	if text == "" {
		return "//"
	}
	return "// " + text
}

// typeName prints a type for comments and messages, with the names of packages
// in place of their paths.
func (e *emitter) typeName(t types.Type) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if pkg.Path() == e.pkg.Path {
			return ""
		}
		return pkg.Name()
	})
}

// rowName is how messages call a row type: "heartbeat.Reading".
func (e *emitter) rowName(s *plan.Struct) string {
	return types.TypeString(s.Go, (*types.Package).Name)
}
