package plan

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tws-go/tws/gen/internal/diag"
)

// lowerCamel turns a Go identifier into a default name: Sensor into sensor,
// HTTPServer into httpServer, ID into id.
func lowerCamel(ident string) string {
	runes := []rune(ident)
	upper := 0
	for upper < len(runes) && unicode.IsUpper(runes[upper]) {
		upper++
	}
	if upper > 1 && upper < len(runes) && unicode.IsLower(runes[upper]) {
		upper-- // the last capital begins the next word
	}
	for i := range upper {
		runes[i] = unicode.ToLower(runes[i])
	}
	return string(runes)
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// The longest names in bytes. Those of processors, tables, sinks and flows name
// files and folders of checkpoints.
const (
	maxName = 255
	maxPath = 200
)

// name checks the name of a state or timer. what says whose it is; given is
// false for a default.
func (pl *planner) name(pos token.Pos, what, name string, given bool) bool {
	return pl.checkName(pos, what, name, given, "letters, digits, _ and -", maxName, unicode.IsLetter)
}

// pathName checks a name that becomes part of a path.
func (pl *planner) pathName(pos token.Pos, what, name string, given bool) bool {
	return pl.checkName(pos, what, name, given, "the letters a-z and A-Z, digits, _ and -", maxPath, func(r rune) bool {
		return r < utf8.RuneSelf && unicode.IsLetter(r)
	})
}

func (pl *planner) checkName(pos token.Pos, what, name string, given bool, alphabet string, longest int, letter func(rune) bool) bool {
	fix := "use " + alphabet + ", beginning with a letter"
	if !given {
		fix = "give it a name in its annotation; " + fix
	}
	switch {
	case name == "":
		pl.report(pos, diag.Name, fix, "%s has an empty name", what)
	case len(name) > longest:
		pl.report(pos, diag.Name, "choose a shorter name", "the name of %s has %d bytes, more than %d", what, len(name), longest)
	case !validName(name, letter):
		pl.report(pos, diag.Name, fix, "%q is not a valid name for %s", name, what)
	default:
		return true
	}
	return false
}

func validName(name string, letter func(rune) bool) bool {
	for i, r := range name {
		switch {
		case r == utf8.RuneError:
			return false
		case letter(r):
		case i > 0 && (r == '_' || r == '-' || r >= '0' && r <= '9'):
		default:
			return false
		}
	}
	return name != ""
}

// names finds names given twice.
type names struct {
	pl *planner
	// what is the plural of what is named, whom the owner, or "".
	what, whom string
	taken      []takenName
}

type takenName struct {
	name string
	pos  token.Pos
}

// take takes a name; it returns false if it is taken, which it reports.
func (n *names) take(pos token.Pos, name string) bool {
	for _, other := range n.taken {
		if strings.EqualFold(name, other.name) {
			how := "have the name " + name
			if name != other.name {
				how = "have the names " + other.name + " and " + name + ", which differ in case only"
			}
			n.pl.report(pos, diag.DuplicateName, "give one of them another name",
				"two %s%s %s; the other is at %s", n.what, n.whom, how, n.pl.shortPosition(other.pos))
			return false
		}
	}
	n.taken = append(n.taken, takenName{name, pos})
	return true
}

// shortPosition is a position within a message: base name of the file and line.
func (pl *planner) shortPosition(pos token.Pos) string {
	p := pl.src.Position(pos)
	base := p.Filename[strings.LastIndexAny(p.Filename, `/\`)+1:]
	return base + ":" + itoa(p.Line)
}
