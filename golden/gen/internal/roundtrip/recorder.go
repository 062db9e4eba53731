package roundtrip

import (
	"fmt"
	"time"

	"github.com/tws-go/tws/schemas"
)

// call is one call of a column writer.
type call struct {
	method string
	arg    any
}

func (c call) String() string {
	if c.arg == nil {
		return c.method
	}
	return fmt.Sprintf("%s %v", c.method, c.arg)
}

// recorder is a column writer that remembers its calls.
type recorder struct{ calls []call }

func (r *recorder) add(method string, arg any) { r.calls = append(r.calls, call{method, arg}) }

func (r *recorder) Null()                    { r.add("Null", nil) }
func (r *recorder) Bool(v bool)              { r.add("Bool", v) }
func (r *recorder) Int(v int64)              { r.add("Int", v) }
func (r *recorder) Uint(v uint64)            { r.add("Uint", v) }
func (r *recorder) Float(v float64)          { r.add("Float", v) }
func (r *recorder) String(v string)          { r.add("String", v) }
func (r *recorder) Bytes(v []byte)           { r.add("Bytes", string(v)) }
func (r *recorder) Time(v time.Time)         { r.add("Time", v) }
func (r *recorder) Duration(v time.Duration) { r.add("Duration", v) }
func (r *recorder) BeginList(n int)          { r.add("BeginList", n) }
func (r *recorder) EndList()                 { r.add("EndList", nil) }
func (r *recorder) BeginStruct()             { r.add("BeginStruct", nil) }
func (r *recorder) EndStruct()               { r.add("EndStruct", nil) }

// matchFields takes the calls of fields off the front.
func matchFields(fields []schemas.Field, calls []call) (rest []call, err error) {
	for _, f := range fields {
		if calls, err = match(f.Type, calls); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return calls, nil
}

func match(t schemas.Type, calls []call) (rest []call, err error) {
	if len(calls) == 0 {
		return nil, fmt.Errorf("no call for %s", t.Kind)
	}
	first, rest := calls[0], calls[1:]
	if first.method == "Null" && t.Optional {
		return rest, nil
	}
	switch t.Kind {
	case schemas.List:
		return matchList(t, first, rest)
	case schemas.Struct:
		if first.method != "BeginStruct" {
			return nil, fmt.Errorf("%s begins a struct", first.method)
		}
		if rest, err = matchFields(t.Fields, rest); err != nil {
			return nil, err
		}
		return end("EndStruct", rest)
	}
	if want := kinds[t.Kind]; first.method != want {
		return nil, fmt.Errorf("%s is called for %s, not %s", first.method, t.Kind, want)
	}
	return rest, nil
}

func matchList(t schemas.Type, first call, calls []call) (rest []call, err error) {
	n, ok := first.arg.(int)
	if first.method != "BeginList" || !ok {
		return nil, fmt.Errorf("%s begins a list", first.method)
	}
	for range n {
		if calls, err = match(*t.Elem, calls); err != nil {
			return nil, err
		}
	}
	return end("EndList", calls)
}

func end(method string, calls []call) (rest []call, err error) {
	if len(calls) == 0 || calls[0].method != method {
		return nil, fmt.Errorf("%s is missing in front of %v", method, calls)
	}
	return calls[1:], nil
}
