package annot

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/gen/internal/diag"
)

// The words of directives.
const (
	Table = "table"
	Sink  = "sink"
	Flow  = "flow"
)

var words = []string{Table, Sink, Flow}

// Directive is a //tws: comment attached to a function or to a variable.
type Directive struct {
	Word string
	Pos  token.Pos // of the comment
	Args []Option
	// Doc is the text of the doc comment without directives.
	Doc string
	// Func is the function it is attached to, else nil.
	Func *ast.FuncDecl
	// Var is the variable declaration it is attached to, else nil. It has one
	// name.
	Var *ast.ValueSpec
}

// Arg returns the argument with a key.
func (d *Directive) Arg(key string) (Option, bool) {
	i := slices.IndexFunc(d.Args, func(o Option) bool { return o.Key == key })
	if i < 0 {
		return Option{}, false
	}
	return d.Args[i], true
}

// looksLike matches comments that are meant as a directive: the marker with a
// word behind it.
var looksLike = regexp.MustCompile(`^(//|/\*)([ \t]*\+?[ \t]*)([tT][wW][sS]:)([ \t]*)([\pL_]*)`)

// Directives returns the directives of a file in source order.
func Directives(file *ast.File, report Report) []*Directive {
	places := attachments(file)
	var found []*Directive
	for _, group := range file.Comments {
		var here []*Directive
		for _, comment := range group.List {
			d := parseDirective(comment, report)
			if d == nil {
				continue
			}
			place, ok := places[group]
			if !ok {
				report(d.Pos, diag.Misplaced,
					"make it the last line of the declaration's doc comment, without a blank line before the declaration",
					"//tws:%s is not attached to a declaration", d.Word)
				continue
			}
			if place.why != "" {
				report(d.Pos, diag.Misplaced, place.fix, "//tws:%s %s", d.Word, place.why)
				continue
			}
			d.Func, d.Var, d.Doc = place.fn, place.spec, strings.TrimSpace(group.Text())
			here = append(here, d)
		}
		found = append(found, exclusive(here, report)...)
	}
	return found
}

// exclusive keeps one directive of a declaration.
func exclusive(here []*Directive, report Report) []*Directive {
	if len(here) < 2 {
		return here
	}
	for _, d := range here[1:] {
		if d.Word == here[0].Word {
			report(d.Pos, diag.Repeated, "keep one of them", "//tws:%s is given twice", d.Word)
		} else {
			report(d.Pos, diag.Repeated, "keep one of them", "//tws:%s and //tws:%s exclude each other", here[0].Word, d.Word)
		}
	}
	return here[:1]
}

// place is a declaration whose doc comment may hold directives, or must not.
type place struct {
	fn       *ast.FuncDecl
	spec     *ast.ValueSpec
	why, fix string // if it must not
}

// attachments maps doc comments to what they document.
func attachments(file *ast.File) map[*ast.CommentGroup]place {
	places := make(map[*ast.CommentGroup]place)
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				places[d.Doc] = place{fn: d}
			}
		case *ast.GenDecl:
			attachGroup(d, places)
		}
	}
	return places
}

func attachGroup(d *ast.GenDecl, places map[*ast.CommentGroup]place) {
	if d.Doc != nil && d.Lparen.IsValid() {
		places[d.Doc] = place{
			why: "stands above a parenthesised group",
			fix: "move it into the doc comment of one declaration in the group",
		}
	}
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		doc := d.Doc
		if ok && d.Lparen.IsValid() {
			doc = v.Doc
		}
		if t, isType := spec.(*ast.TypeSpec); isType && d.Lparen.IsValid() {
			doc = t.Doc
		}
		if doc == nil || places[doc].why != "" {
			continue
		}
		switch {
		case !ok || d.Tok != token.VAR:
			places[doc] = place{
				why: "stands on a " + d.Tok.String() + " declaration",
				fix: "directives belong on variables and functions; move or remove it",
			}
		case len(v.Names) != 1:
			places[doc] = place{
				why: "stands on a declaration of several variables",
				fix: "declare the variables one by one, each with its directive",
			}
		default:
			places[doc] = place{spec: v}
		}
	}
}

// parseDirective returns nil for other comments and for malformed directives,
// which it reports.
func parseDirective(comment *ast.Comment, report Report) *Directive {
	m := looksLike.FindStringSubmatch(comment.Text)
	if m == nil {
		return nil
	}
	opening, before, marker, after, word := m[1], m[2], m[3], m[4], m[5]
	exact := opening == "//" && before == "" && marker == "tws:" && after == ""
	known := diag.Nearest(word, words)
	if !exact {
		// Prose may begin like this; a directive's word behind it does not.
		if slices.Contains(words, strings.ToLower(word)) {
			report(comment.Pos(), diag.BadDirective, "write //tws:"+strings.ToLower(word)+", in lower case and without spaces",
				"this comment has no effect: it is not written as a directive")
		}
		return nil
	}
	if !slices.Contains(words, word) {
		fix := "use one of //tws:table, //tws:sink and //tws:flow"
		if known != "" {
			fix = "write //tws:" + known
		}
		report(comment.Pos(), diag.BadDirective, fix, "unknown directive //tws:%s%s", word, diag.DidYouMean(word, words))
		return nil
	}
	rest := source(comment.Text, comment.Pos())
	rest = rest.slice(len(m[0]), len(rest.s))
	if rest.s != "" && rest.s[0] != ' ' && rest.s[0] != '\t' && rest.s[0] != '\r' {
		report(rest.pos(), diag.BadDirective, "write a space after //tws:"+word, "unexpected %q after //tws:%s", rest.s, word)
		return nil
	}
	d := &Directive{Word: word, Pos: comment.Pos()}
	d.Args = arguments(rest, report)
	return d
}

// arguments splits the text behind a directive's word.
func arguments(t text, report Report) []Option {
	var options []Option
	for i := 0; i < len(t.s); {
		if strings.IndexByte(" \t\r", t.s[i]) >= 0 {
			i++
			continue
		}
		end := argumentEnd(t.s, i)
		o := option(t.slice(i, end))
		if strings.HasPrefix(o.Value, `"`) {
			value, err := strconv.Unquote(o.Value)
			if err != nil {
				report(o.ValuePos, diag.BadDirective, `close the quotes: name="a b"`, "malformed quoted value %s", o.Value)
				return options
			}
			o.Value = value
		}
		if o.Key == "" {
			report(o.Pos, diag.BadDirective, "write key=value", "argument %q has no key", t.s[i:end])
		} else {
			options = addOption(options, o, report)
		}
		i = end
	}
	return options
}

// argumentEnd returns where the argument that begins at i ends: at a space
// outside of quotes.
func argumentEnd(s string, i int) int {
	quoted := false
	for ; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(" \t\r", s[i]) >= 0:
			return i
		}
	}
	return min(i, len(s))
}
