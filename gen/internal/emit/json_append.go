package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// appendJSON writes the JSON encoder of s: an object with its fields in
// declaration order.
func (e *emitter) appendJSON(s *plan.Struct) {
	l := e.local
	name := e.fn("twsAppend", s, "JSON")
	text := fmt.Sprintf("%s encodes %s as a JSON object.", name.GoString(), l.v)
	fallible := fallibleStruct(s)
	if fallible {
		text += " If a value has no JSON form, it returns " + l.dst + " as it was."
	}
	w := &jsonWriter{e: e}
	w.object(s)
	e.decl(doc(text),
		jen.Func().Add(name).
			Params(jen.Id(l.dst).Index().Byte(), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).
			Params(jen.Index().Byte(), jen.Error()).
			BlockFunc(func(g *jen.Group) {
				if fallible {
					g.Id(l.start).Op(":=").Len(jen.Id(l.dst))
					g.Var().Id(l.err).Error()
				}
				for _, line := range w.code {
					g.Add(line)
				}
			}))
}

// fallibleStruct reports whether encoding s calls anything that may fail.
func fallibleStruct(s *plan.Struct) bool {
	for _, f := range s.Fields {
		v := f.Value
		for v.Elem != nil {
			v = *v.Elem
		}
		switch v.Wire.Kind {
		case schemas.Struct, schemas.Float32, schemas.Float64, schemas.Timestamp:
			return true
		}
	}
	return false
}

// jsonWriter collects the statements that write JSON. Constant text is held back
// until the next statement, so that neighbouring pieces become one append.
type jsonWriter struct {
	e    *emitter
	code []jen.Code
	text string
	// path and args say where in the value we are, for errors: a format and its
	// arguments, such as "tags[%d]" and i.
	path string
	args []jen.Code
}

// object writes all of s. Fields that may be left out make commas a matter of
// run time: up to the first field that is always there, the comma follows a
// field, from then on it precedes it.
func (w *jsonWriter) object(s *plan.Struct) {
	w.text = "{"
	after := false // a field that is always there has been written
	for _, f := range s.Fields {
		key := jsonString(f.Wire) + ":"
		if after {
			key = "," + key
		}
		w.path, w.args = strings.ReplaceAll(f.Wire, "%", "%%"), nil
		present := w.present(f)
		if present == nil {
			w.text += key
			w.value(f.Value, field(w.e.local.v, f.Name), 0)
			after = true
			continue
		}
		w.ifElse(present, func(w *jsonWriter) {
			w.text += key
			w.field(f)
			if !after {
				w.text += ","
			}
		}, nil)
	}
	w.close(!after && len(s.Fields) > 0)
}

// close writes the closing brace, without the comma that may precede it.
func (w *jsonWriter) close(comma bool) {
	dst := jen.Id(w.e.local.dst)
	if comma {
		w.flush()
		last := jen.Len(dst).Op("-").Lit(1)
		w.code = append(w.code, jen.If(dst.Clone().Index(last).Op("==").LitRune(',')).
			Block(dst.Clone().Op("=").Add(dst.Clone()).Index(jen.Op(":").Add(last.Clone()))))
	}
	w.text += "}"
	w.code = append(w.code, jen.Return(w.e.onDst(appendFn(), w.takeText()...), jen.Nil()))
}

// field writes the value of a field that is known to be there.
func (w *jsonWriter) field(f *plan.Field) {
	p := field(w.e.local.v, f.Name)
	if f.Value.Wire.Optional {
		w.value(deref(f.Value), p.pointee(), 0)
		return
	}
	w.value(f.Value, p, 0)
}

// present returns the condition for a field to be written, nil if it always is.
func (w *jsonWriter) present(f *plan.Field) *jen.Statement {
	x := field(w.e.local.v, f.Name).value()
	if !f.Omit {
		return nil
	}
	switch kind := f.Value.Wire.Kind; {
	case f.Value.Wire.Optional, kind == schemas.List, kind == schemas.Bytes:
		return x.Op("!=").Nil()
	case kind == schemas.Struct:
		// What cannot be compared is always written.
		if !types.Comparable(f.Value.Go) {
			return nil
		}
		return x.Op("!=").Parens(w.e.typ(f.Value.Go).Values())
	case kind == schemas.Bool:
		return x
	case kind == schemas.String:
		return x.Op("!=").Lit("")
	case kind == schemas.Timestamp:
		return jen.Op("!").Add(w.e.scalar(f.Value).toNatural(x)).Dot("IsZero").Call()
	}
	return x.Op("!=").Lit(0)
}

// value writes the value in p. A nil list is an empty one.
func (w *jsonWriter) value(v plan.Value, p place, depth int) {
	switch {
	case v.Wire.Optional:
		w.ifElse(p.value().Op("==").Nil(),
			func(w *jsonWriter) { w.text += "null" },
			func(w *jsonWriter) { w.value(deref(v), p.pointee(), depth) })
	case v.Elem != nil:
		w.list(v, p, depth)
	case v.Struct != nil:
		w.try(w.e.fn("twsAppend", v.Struct, "JSON"), p.addr())
	default:
		w.scalar(v, p)
	}
}

func (w *jsonWriter) scalar(v plan.Value, p place) {
	s := w.e.scalar(v)
	call := w.e.codec("AppendJSON" + s.wide)
	if !s.fallible {
		w.flush()
		w.code = append(w.code, w.e.setDst(call, s.toWide(p.value())))
		return
	}
	w.try(call, s.withBits(s.toWide(p.value()))...)
}

func (w *jsonWriter) list(v plan.Value, p place, depth int) {
	i := w.e.local.index(depth)
	w.text += "["
	w.flush()
	body := w.nested()
	body.path += "[%d]"
	body.args = append(body.args[:len(body.args):len(body.args)], jen.Id(i))
	body.code = []jen.Code{jen.If(jen.Id(i).Op(">").Lit(0)).Block(w.e.setDst(appendFn(), jen.LitRune(',')))}
	body.value(*v.Elem, p.at(i), depth+1)
	body.flush()
	w.code = append(w.code, jen.For(jen.Id(i).Op(":=").Range().Add(p.value())).Block(body.code...))
	w.text += "]"
}

// try writes a call that may fail; the error names the field.
func (w *jsonWriter) try(call *jen.Statement, args ...jen.Code) {
	l := w.e.local
	w.flush()
	dst := jen.Id(l.dst)
	format := append([]jen.Code{jen.Lit("field " + w.path + ": %w")}, w.args...)
	w.code = append(w.code, jen.If(
		jen.List(dst, jen.Id(l.err)).Op("=").Add(w.e.onDst(call, args...)),
		jen.Id(l.err).Op("!=").Nil(),
	).Block(jen.Return(
		dst.Clone().Index(jen.Op(":").Id(l.start)),
		jen.Qual("fmt", "Errorf").Call(append(format, jen.Id(l.err))...),
	)))
}

// ifElse writes an if statement; the else branch may be nil.
func (w *jsonWriter) ifElse(cond jen.Code, then, otherwise func(*jsonWriter)) {
	w.flush()
	code := jen.If(cond).Block(w.branch(then)...)
	if otherwise != nil {
		code.Else().Block(w.branch(otherwise)...)
	}
	w.code = append(w.code, code)
}

func (w *jsonWriter) branch(write func(*jsonWriter)) []jen.Code {
	b := w.nested()
	write(b)
	b.flush()
	return b.code
}

// nested returns a writer for a block within the current one.
func (w *jsonWriter) nested() *jsonWriter {
	return &jsonWriter{e: w.e, path: w.path, args: w.args}
}

// flush writes the text that was held back.
func (w *jsonWriter) flush() {
	if w.text != "" {
		w.code = append(w.code, w.e.setDst(appendFn(), w.takeText()...))
	}
}

// takeText returns the held text as arguments of append after dst.
func (w *jsonWriter) takeText() []jen.Code {
	text := w.text
	w.text = ""
	if len(text) == 1 {
		return []jen.Code{jen.LitRune(rune(text[0]))}
	}
	if !strings.ContainsAny(text, "\"\\") {
		return []jen.Code{jen.Lit(text).Op("...")}
	}
	return []jen.Code{rawString(text).Op("...")}
}

// jsonString quotes a name as the codec package quotes strings.
func jsonString(s string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("emit: quoting a name: " + err.Error()) // strings always encode
	}
	return strings.TrimSuffix(buf.String(), "\n")
}
