// Package annot reads annotations: the tws key of struct tags and the //tws:
// directives in doc comments. It knows their grammar and where every part of
// them stands in the source, and nothing of what they mean.
//
//	tag:       `tws:"name,key=value,key=value"`   name may be empty, "-" excludes
//	directive: //tws:word key=value key="quoted value" flag
package annot

import (
	"go/ast"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tws-go/tws/gen/internal/diag"
)

// Report receives a fault found at pos. message is formatted with args.
type Report func(pos token.Pos, code diag.Code, fix, message string, args ...any)

// Option is a key=value part of a tag, or an argument of a directive.
type Option struct {
	Key, Value string
	// HasValue is false if there is no =.
	HasValue      bool
	Pos, ValuePos token.Pos
}

// String returns the option as it is written.
func (o Option) String() string {
	if !o.HasValue {
		return o.Key
	}
	return o.Key + "=" + o.Value
}

// Tag is the tws key of a struct tag.
type Tag struct {
	Pos     token.Pos // of the key
	Name    string    // "" if left out
	NamePos token.Pos
	Options []Option
}

// Excluded reports whether the tag is `tws:"-"`.
func (t *Tag) Excluded() bool { return t != nil && t.Name == "-" && len(t.Options) == 0 }

// text is a piece of source text with escapes resolved; at[i] is the position
// of byte i, at[len(s)] that of the end.
type text struct {
	s  string
	at []token.Pos
}

func (t text) slice(from, to int) text { return text{t.s[from:to], t.at[from : to+1]} }

func (t text) pos() token.Pos { return t.at[0] }

// source returns the text of a token without escapes.
func source(s string, pos token.Pos) text {
	at := make([]token.Pos, len(s)+1)
	for i := range at {
		at[i] = pos + token.Pos(i)
	}
	return text{s, at}
}

// unquote resolves a Go string literal, quotes included.
func (t text) unquote() (text, bool) {
	if len(t.s) < 2 {
		return text{}, false
	}
	quote := t.s[0]
	end := len(t.s) - 1
	if t.s[end] != quote || quote != '"' && quote != '`' {
		return text{}, false
	}
	if quote == '`' {
		return t.slice(1, end), true
	}
	if strings.Contains(t.s, "\n") {
		return text{}, false
	}
	var out text
	for i := 1; i < end; {
		r, multibyte, tail, err := strconv.UnquoteChar(t.s[i:end], '"')
		if err != nil {
			return text{}, false
		}
		char := string(rune(r))
		if !multibyte && r >= utf8.RuneSelf {
			char = string([]byte{byte(r)})
		}
		for range len(char) {
			out.at = append(out.at, t.at[i])
		}
		out.s += char
		i = end - len(tail)
	}
	out.at = append(out.at, t.at[end])
	return out, true
}

// pair is one key:"value" of a struct tag; value has escapes resolved.
type pair struct{ key, value text }

// pairs splits a struct tag. The conventional form is demanded: everything that
// reflect.StructTag would skip or stop at is malformed.
func pairs(t text) (list []pair, malformed token.Pos) {
	for i := 0; i < len(t.s); {
		if t.s[i] == ' ' {
			i++
			continue
		}
		colon := i
		for colon < len(t.s) && t.s[colon] > ' ' && t.s[colon] != ':' && t.s[colon] != '"' && t.s[colon] != 0x7f {
			colon++
		}
		if colon == i || colon+1 >= len(t.s) || t.s[colon] != ':' || t.s[colon+1] != '"' {
			return list, t.at[i]
		}
		end := colon + 2
		for end < len(t.s) && t.s[end] != '"' {
			if t.s[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(t.s) {
			return list, t.at[i]
		}
		value, ok := t.slice(colon+1, end+1).unquote()
		if !ok || end+1 < len(t.s) && t.s[end+1] != ' ' {
			return list, t.at[i]
		}
		list = append(list, pair{t.slice(i, colon), value})
		i = end + 1
	}
	return list, token.NoPos
}

// ParseTag returns the tws key of a field's tag, nil if there is none or it is
// malformed, which is reported.
func ParseTag(lit *ast.BasicLit, report Report) *Tag {
	if lit == nil {
		return nil
	}
	t, ok := source(lit.Value, lit.Pos()).unquote()
	if !ok {
		return nil // the parser has complained
	}
	list, malformed := pairs(t)
	if malformed.IsValid() {
		report(malformed, diag.TagSyntax, `write key:"value" pairs separated by single spaces`,
			"malformed struct tag %s", lit.Value)
		return nil
	}
	var tag *Tag
	for _, p := range list {
		switch {
		case p.key.s == "tws" && tag != nil:
			report(p.key.pos(), diag.Repeated, "merge them into one tws key", "the tag has the key tws twice")
		case p.key.s == "tws":
			tag = parseTag(p, report)
		case strings.EqualFold(p.key.s, "tws"):
			report(p.key.pos(), diag.TagSyntax, "write tws", "tag key %s is not the generator's: case matters", p.key.s)
		}
	}
	return tag
}

func parseTag(p pair, report Report) *Tag {
	tag := &Tag{Pos: p.key.pos(), NamePos: p.value.pos()}
	for i, part := range split(p.value, ',') {
		trimmed := trim(part)
		if trimmed.s != part.s {
			report(part.pos(), diag.TagSyntax, "remove the spaces", "spaces around %q in the tws tag", trimmed.s)
		}
		if i == 0 {
			tag.Name, tag.NamePos = trimmed.s, trimmed.pos()
			if strings.Contains(trimmed.s, "=") {
				report(trimmed.pos(), diag.TagSyntax,
					"write the name first, or begin with a comma for the default name: `tws:\","+trimmed.s+"\"`",
					"option %s stands where the name belongs", trimmed.s)
				tag.Name = ""
			}
			continue
		}
		if trimmed.s == "" {
			report(part.pos(), diag.TagSyntax, "remove the surplus comma", "empty option in the tws tag")
			continue
		}
		tag.Options = addOption(tag.Options, option(trimmed), report)
	}
	return tag
}

// addOption appends an option unless its key is there already.
func addOption(options []Option, o Option, report Report) []Option {
	for _, other := range options {
		if other.Key == o.Key {
			report(o.Pos, diag.Repeated, "keep one of the two", "option %s is given twice", o.Key)
			return options
		}
	}
	return append(options, o)
}

func option(t text) Option {
	o := Option{Key: t.s, Pos: t.pos(), ValuePos: t.at[len(t.s)]}
	if i := strings.IndexByte(t.s, '='); i >= 0 {
		o.Key, o.Value, o.HasValue = t.s[:i], t.s[i+1:], true
		o.ValuePos = t.at[i+1]
	}
	return o
}

func split(t text, sep byte) []text {
	var parts []text
	from := 0
	for i := 0; i <= len(t.s); i++ {
		if i == len(t.s) || t.s[i] == sep {
			parts = append(parts, t.slice(from, i))
			from = i + 1
		}
	}
	return parts
}

func trim(t text) text {
	from, to := 0, len(t.s)
	for from < to && (t.s[from] == ' ' || t.s[from] == '\t') {
		from++
	}
	for to > from && (t.s[to-1] == ' ' || t.s[to-1] == '\t') {
		to--
	}
	return t.slice(from, to)
}

// JSON is what the json key of a tag says.
type JSON struct {
	Name     string // "" if left out
	Excluded bool   // `json:"-"`
	// Omit is true with omitempty or omitzero.
	Omit bool
	// Quoted is true with the option string.
	Quoted bool
}

// ParseJSON reads the json key of a tag's text, without the outer quotes.
func ParseJSON(tag string) JSON {
	value := reflect.StructTag(tag).Get("json")
	if value == "-" {
		return JSON{Excluded: true}
	}
	name, options, _ := strings.Cut(value, ",")
	j := JSON{Name: name}
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "omitempty", "omitzero":
			j.Omit = true
		case "string":
			j.Quoted = true
		}
	}
	return j
}
