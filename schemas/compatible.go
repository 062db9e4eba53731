package schemas

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Difference is one thing in which a declared processor differs from the stored
// one in a way that makes the stored bytes mean something else.
type Difference struct {
	// What names the thing: "time mode", "state recent", "state recent: At.Zone"
	// for a field inside the value.
	What string
	// Old and New describe it as stored and as declared; "absent" if it is not
	// there.
	Old, New string
}

// String returns "state recent: was list, now value".
func (d Difference) String() string {
	return d.What + ": was " + d.Old + ", now " + d.New
}

// IncompatibleError says that a processor cannot go on with the state that an
// earlier declaration of it has stored.
type IncompatibleError struct {
	Processor string
	// Differences are all of them, in the order processor, states, timers.
	Differences []Difference
}

// Error lists every difference with the old and the new side.
func (e *IncompatibleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "schemas: processor %s does not fit its stored state", e.Processor)
	for _, d := range e.Differences {
		b.WriteString("\n\t" + d.String())
	}
	return b.String()
}

const absent = "absent"

// Compatible reports whether a processor as declared can go on with the state
// that was written by it as stored. It can if nothing changed, if states or
// timers were added, and if TTLs became longer or shorter. Names of Go types do
// not matter. A TTL cannot be switched on or off: values that were written without
// an expiry would never get one, and values with one would still vanish.
// Anything else is returned as an [*IncompatibleError] that lists every
// difference.
func Compatible(stored, declared Processor) error {
	var c comparison
	c.text("name", stored.Name, declared.Name)
	c.text("time mode", stored.TimeMode, declared.TimeMode)
	c.text("output mode", stored.OutputMode, declared.OutputMode)
	c.types("grouping key", "", stored.Key, declared.Key)
	for _, s := range stored.States {
		c.state(s, declared.States)
	}
	for _, t := range stored.Timers {
		c.timer(t, declared.Timers)
	}
	c.reused(stored, declared)
	if len(c.found) == 0 {
		return nil
	}
	return &IncompatibleError{Processor: declared.Name, Differences: c.found}
}

// comparison collects differences.
type comparison struct{ found []Difference }

func (c *comparison) add(what, was, now string) {
	c.found = append(c.found, Difference{What: what, Old: was, New: now})
}

func (c *comparison) text(what, was, now string) {
	if was != now {
		c.add(what, quoted(was), quoted(now))
	}
}

func quoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

func (c *comparison) state(was State, declared []State) {
	what := "state " + was.Name
	i := slices.IndexFunc(declared, func(s State) bool { return s.ID == was.ID })
	if i < 0 {
		c.add(fmt.Sprintf("%s (id %d)", what, was.ID), was.text(), absent)
		return
	}
	now := declared[i]
	c.text(fmt.Sprintf("name of state id %d", was.ID), was.Name, now.Name)
	if was.Kind != now.Kind {
		c.add(what, was.text(), now.text())
		return
	}
	if was.Version != now.Version {
		c.add(what+": schema version", fmt.Sprint(was.Version), fmt.Sprint(now.Version))
	}
	if was.Key != nil && now.Key != nil {
		c.types(what+": map key", "", *was.Key, *now.Key)
	} else if was.Key != nil || now.Key != nil {
		c.add(what+": map key", typeText(was.Key), typeText(now.Key))
	}
	c.types(what, "", was.Value, now.Value)
	if (was.TTLMicros == 0) != (now.TTLMicros == 0) {
		c.add(what+": ttl", was.ttlText(), now.ttlText())
	}
}

func (s State) ttlText() string {
	if s.TTLMicros == 0 {
		return "none"
	}
	return s.TTL().String()
}

func typeText(t *Type) string {
	if t == nil {
		return absent
	}
	return t.String()
}

// text describes the state in one line: "map<string, int64>".
func (s State) text() string {
	if s.Key != nil {
		return fmt.Sprintf("%s<%s, %s>", s.Kind, s.Key, s.Value)
	}
	return fmt.Sprintf("%s<%s>", s.Kind, s.Value)
}

// TTL returns the time to live, 0 if there is none.
func (s State) TTL() time.Duration { return time.Duration(s.TTLMicros) * time.Microsecond }

func (c *comparison) timer(was Timer, declared []Timer) {
	i := slices.IndexFunc(declared, func(t Timer) bool { return t.ID == was.ID })
	if i < 0 {
		c.add(fmt.Sprintf("timer %s (id %d)", was.Name, was.ID), "declared", absent)
		return
	}
	c.text(fmt.Sprintf("name of timer id %d", was.ID), was.Name, declared[i].Name)
}

// reused finds stored names that the declaration gives to another id: the
// variable would silently start empty.
func (c *comparison) reused(stored, declared Processor) {
	for _, now := range declared.States {
		for _, was := range stored.States {
			if was.Name == now.Name && was.ID != now.ID {
				c.add("id of state "+now.Name, fmt.Sprint(was.ID), fmt.Sprint(now.ID))
			}
		}
	}
	for _, now := range declared.Timers {
		for _, was := range stored.Timers {
			if was.Name == now.Name && was.ID != now.ID {
				c.add("id of timer "+now.Name, fmt.Sprint(was.ID), fmt.Sprint(now.ID))
			}
		}
	}
}

// types compares what two types mean on the wire. path leads from the value to
// the part that is compared, "" for the value itself.
func (c *comparison) types(what, path string, was, now Type) {
	at := what
	if path != "" {
		at += ": " + path
	}
	switch {
	case was.Kind != now.Kind || was.Optional != now.Optional:
		c.add(at, was.String(), now.String())
	case was.Kind == List && was.Elem != nil && now.Elem != nil:
		c.types(what, path+"[]", *was.Elem, *now.Elem)
	case was.Kind == List && was.Elem != now.Elem:
		c.add(at, typeText(was.Elem), typeText(now.Elem))
	case was.Kind == Struct:
		c.fields(what, path, was.Fields, now.Fields)
	}
}

func (c *comparison) fields(what, path string, was, now []Field) {
	if path != "" {
		path += "."
	}
	for _, w := range was {
		i := slices.IndexFunc(now, func(f Field) bool { return f.ID == w.ID })
		if i < 0 {
			c.add(what+": "+path+w.Name, w.Type.String(), absent)
			continue
		}
		c.text(fmt.Sprintf("%s: name of field %sid %d", what, path, w.ID), w.Name, now[i].Name)
		c.types(what, path+w.Name, w.Type, now[i].Type)
	}
	for _, n := range now {
		if !slices.ContainsFunc(was, func(f Field) bool { return f.ID == n.ID }) {
			c.add(what+": "+path+n.Name, absent, n.Type.String())
		}
	}
}
