package dialogue_test

import (
	"fmt"
	"regexp"
	"strings"
)

// block is one exchange of a dialogue.
type block struct {
	comment  []string // lines that begin with #, and blank lines between them
	line     int      // of the directive in the file
	commands []string // the directive and what belongs to it
	answer   string   // lines, each with its end
}

const divider = "----"

// caseName is what the comment of every block has to hold: the case it covers, of
// docs/reference/conformance.md, or the rule of docs/reference/semantics.md.
var caseName = regexp.MustCompile(`\b[CBS]-\d+`)

// parse reads a dialogue.
func parse(text string) ([]block, error) {
	var all []block
	var b block
	answering := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case answering && line != "":
			b.answer += line + "\n"
		case answering:
			all = append(all, b)
			b, answering = block{}, false
		case line == divider:
			answering = true
			if len(b.commands) == 0 {
				return nil, fmt.Errorf("line %d: nothing is asked before this answer", i+1)
			}
			if !caseName.MatchString(strings.Join(b.comment, "\n")) {
				return nil, fmt.Errorf("line %d: the comment above names no case, such as C-39", b.line)
			}
		case len(b.commands) == 0 && (line == "" || line[0] == '#'):
			b.comment = append(b.comment, line)
		case line == "":
			return nil, fmt.Errorf("line %d: a blank line before %s", i+1, divider)
		default:
			if len(b.commands) == 0 {
				b.line = i + 1
			}
			b.commands = append(b.commands, line)
		}
	}
	if len(b.commands) > 0 {
		return nil, fmt.Errorf("line %d: no %s after the last commands", b.line, divider)
	}
	return all, nil
}

// format is the inverse of parse.
func format(all []block) string {
	var b strings.Builder
	for i, bl := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		for _, c := range bl.comment {
			b.WriteString(c + "\n")
		}
		b.WriteString(strings.Join(bl.commands, "\n") + "\n" + divider + "\n" + bl.answer)
	}
	return b.String()
}
