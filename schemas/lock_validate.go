package schemas

import (
	"fmt"
	"slices"
)

// validate finds contradictions: ids out of range or given twice, names given
// twice, types that make no sense, structs that are not there.
func (l *Lock) validate() error {
	for i, s := range l.Structs {
		if l.Struct(s.Name) != &l.Structs[i] {
			return fmt.Errorf("struct %s is there twice", s.Name)
		}
		if err := l.validateStruct(s); err != nil {
			return fmt.Errorf("struct %s: %w", s.Name, err)
		}
	}
	for i, p := range l.Processors {
		if !p.Removed && l.Processor(p.Name) != &l.Processors[i] {
			return fmt.Errorf("processor %s is there twice", p.Name)
		}
		if err := l.validateProcessor(p); err != nil {
			return fmt.Errorf("processor %s: %w", p.Name, err)
		}
	}
	return nil
}

func (l *Lock) validateStruct(s LockedStruct) error {
	ids := newIDs(s.NextFieldID)
	for _, f := range s.Fields {
		if err := ids.take(f.ID, f.Name, f.Removed); err != nil {
			return fmt.Errorf("field %w", err)
		}
		if err := l.validateType(f.Type); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func (l *Lock) validateProcessor(p LockedProcessor) error {
	if err := l.validateType(p.Key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	states := newIDs(p.NextStateID)
	for _, s := range p.States {
		if err := states.take(s.ID, s.Name, s.Removed); err != nil {
			return fmt.Errorf("state %w", err)
		}
		if err := l.validateState(s.State); err != nil {
			return fmt.Errorf("state %s: %w", s.Name, err)
		}
	}
	timers := newIDs(p.NextTimerID)
	for _, t := range p.Timers {
		if err := timers.take(t.ID, t.Name, t.Removed); err != nil {
			return fmt.Errorf("timer %w", err)
		}
	}
	return nil
}

func (l *Lock) validateState(s State) error {
	kinds := []StateKind{ValueState, ListState, MapState}
	switch {
	case !slices.Contains(kinds, s.Kind):
		return fmt.Errorf("unknown kind %q", s.Kind)
	case (s.Kind == MapState) != (s.Key != nil):
		return fmt.Errorf("a map, and only a map, has a key")
	case s.Version < 1:
		return fmt.Errorf("version %d is below 1", s.Version)
	case s.TTLMicros < 0:
		return fmt.Errorf("negative TTL")
	}
	if s.Key != nil {
		if err := l.validateType(*s.Key); err != nil {
			return err
		}
	}
	return l.validateType(s.Value)
}

func (l *Lock) validateType(t Type) error {
	scalars := []Kind{
		Bool, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64,
		Float32, Float64, String, Bytes, Timestamp, Duration,
	}
	switch {
	case t.Fields != nil:
		return fmt.Errorf("type %s has fields of its own", t.Kind)
	case (t.Kind == List) != (t.Elem != nil):
		return fmt.Errorf("a list, and only a list, has an element type")
	case t.Kind == List:
		return l.validateType(*t.Elem)
	case t.Kind == Struct && l.Struct(t.Name) == nil:
		return fmt.Errorf("there is no struct %q", t.Name)
	case t.Kind != Struct && t.Name != "":
		return fmt.Errorf("type %s has a name", t.Kind)
	case t.Kind != Struct && !slices.Contains(scalars, t.Kind):
		return fmt.Errorf("unknown type %q", t.Kind)
	}
	return nil
}

// ids checks the ids of one list of entries.
type ids struct {
	next  int
	seen  map[int]bool
	names map[string]bool
}

func newIDs(next int) *ids {
	return &ids{next: next, seen: make(map[int]bool), names: make(map[string]bool)}
}

func (i *ids) take(id int, name string, removed bool) error {
	switch {
	case name == "":
		return fmt.Errorf("with id %d has no name", id)
	case id < 1 || id >= i.next:
		return fmt.Errorf("%s: id %d is not between 1 and the next id %d", name, id, i.next)
	case i.seen[id]:
		return fmt.Errorf("%s: id %d is given twice", name, id)
	case !removed && i.names[name]:
		return fmt.Errorf("%s is there twice", name)
	}
	i.seen[id] = true
	if !removed {
		i.names[name] = true
	}
	return nil
}
