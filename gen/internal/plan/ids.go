package plan

import (
	"go/token"
	"slices"

	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/schemas"
)

// startOver is the way out where nothing that was stored has to be kept. With a
// fresh checkpoint alone every row would go into the old tables and topics once
// more.
const startOver = "delete " + schemas.LockFile + " and start with a fresh checkpoint and fresh tables and topics (or other names): all output is written again"

const restore = "restore it, or " + startOver

// newState is the way on for a struct of stored state that has to change.
const newState = "declare a new state beside it with a new type"

// assignIDs gives every state, timer and field its id: the one in the lock, or
// the next free one in order of declaration. It returns the new lock. What the
// lock knows and stored state depends on must still be as it was, which is looked
// at in a package without faults only: a field whose type is undefined is no lost
// state.
func (pl *planner) assignIDs(old *schemas.Lock, path string) *schemas.Lock {
	if old == nil {
		old = new(schemas.Lock)
	}
	faults := len(pl.diags)
	a := &assigner{pl: pl, path: path, lock: copyLock(old)}
	a.adoptRenames()
	a.stored = a.lock.Stored()
	for _, s := range pl.sortedStructs() {
		a.structure(s)
	}
	a.lostStructs()
	for _, p := range pl.out.Processors {
		a.processor(p)
	}
	a.lostProcessors()
	if faults > 0 {
		pl.diags = pl.diags[:faults]
	}
	return a.lock
}

// copyLock returns a lock that shares no slices with l.
func copyLock(l *schemas.Lock) *schemas.Lock {
	c := &schemas.Lock{Processors: slices.Clone(l.Processors), Structs: slices.Clone(l.Structs)}
	for i := range c.Processors {
		c.Processors[i].States = slices.Clone(c.Processors[i].States)
		c.Processors[i].Timers = slices.Clone(c.Processors[i].Timers)
	}
	for i := range c.Structs {
		c.Structs[i].Fields = slices.Clone(c.Structs[i].Fields)
	}
	return c
}

// withoutAnnotations returns the lock of a package that declares nothing any
// more: none, unless stored state depends on it.
func (pl *planner) withoutAnnotations(old *schemas.Lock, path string) *schemas.Lock {
	if old == nil {
		return nil
	}
	a := &assigner{pl: pl, path: path, lock: copyLock(old)}
	a.lostProcessors()
	if len(pl.diags) > 0 {
		return old
	}
	return nil
}

type assigner struct {
	pl   *planner
	path string
	lock *schemas.Lock
	// stored are the structs that stored state depends on.
	stored map[string]bool
}

// lockPosition is where faults are that have no place in the sources.
func (a *assigner) lockPosition() token.Position { return token.Position{Filename: a.path} }

func (a *assigner) structure(s *structPlan) {
	locked := a.lock.Struct(s.name)
	if locked == nil {
		a.lock.Structs = append(a.lock.Structs, schemas.LockedStruct{Name: s.name, NextFieldID: 1})
		locked = &a.lock.Structs[len(a.lock.Structs)-1]
	}
	stored := a.stored[s.name]
	locked.Removed = false
	declared := make(map[string]bool)
	var added []string
	for _, f := range s.Fields {
		declared[f.Wire] = true
		if a.field(s, f, locked, stored) {
			added = append(added, f.Name)
		}
	}
	for i := range locked.Fields {
		f := &locked.Fields[i]
		if f.Removed || declared[f.Name] {
			continue
		}
		if stored {
			a.pl.report(s.pos, diag.StateStruct, a.renameFix(f.Name, "one", added),
				"struct %s is part of stored state and lost its field %q of type %s",
				a.pl.typeString(s.Go), f.Name, f.Type)
		}
		f.Removed = true
	}
}

// field assigns a field's id; added is true if the lock does not know it.
func (a *assigner) field(s *structPlan, f *Field, locked *schemas.LockedStruct, stored bool) (added bool) {
	now := a.pl.wireType(f.Value)
	i := slices.IndexFunc(locked.Fields, func(l schemas.LockedField) bool { return l.Name == f.Wire && !l.Removed })
	if i < 0 {
		if stored {
			a.pl.report(a.pl.fieldPos(s, f, 0), diag.StateStruct,
				newState+", or "+startOver,
				"struct %s is part of stored state and has the new field %q", a.pl.typeString(s.Go), f.Wire)
		}
		f.ID = locked.NextFieldID
		locked.NextFieldID++
		locked.Fields = append(locked.Fields, schemas.LockedField{Field: schemas.Field{ID: f.ID, Name: f.Wire, Type: now}})
		return true
	}
	was := &locked.Fields[i]
	f.ID = was.ID
	if stored && !sameType(was.Type, now) {
		a.pl.report(a.pl.fieldPos(s, f, 0), diag.StateStruct, "restore the type, "+newState+", or "+startOver,
			"field %q of struct %s is part of stored state and changed its type from %s to %s",
			f.Wire, a.pl.typeString(s.Go), was.Type, now)
	}
	was.Type = now
	return false
}

// wireType is a value's wire type with structs by name, as locks have it.
func (pl *planner) wireType(v Value) schemas.Type {
	t := v.Wire
	t.Fields = nil
	if v.Struct != nil {
		t.Name = pl.qualified(v.Struct.Go)
	}
	if v.Elem != nil {
		elem := pl.wireType(*v.Elem)
		t.Elem = &elem
	}
	return t
}

// sameType compares types with structs by name.
func sameType(a, b schemas.Type) bool {
	if a.Kind != b.Kind || a.Optional != b.Optional || a.Name != b.Name || (a.Elem == nil) != (b.Elem == nil) {
		return false
	}
	return a.Elem == nil || sameType(*a.Elem, *b.Elem)
}

// lostStructs marks structs that the sources do not use any more. Where stored
// state used one, that is reported with the state.
func (a *assigner) lostStructs() {
	for i := range a.lock.Structs {
		s := &a.lock.Structs[i]
		if a.pl.structs[s.Name] == nil {
			s.Removed = true
		}
	}
}

func (a *assigner) processor(p *Processor) {
	name := p.Schema.Name
	key := a.pl.wireType(p.Key)
	locked := a.lock.Processor(name)
	if locked == nil {
		a.lock.Processors = append(a.lock.Processors, schemas.LockedProcessor{
			Name: name, NextStateID: 1, NextTimerID: 1, Key: key,
		})
		locked = &a.lock.Processors[len(a.lock.Processors)-1]
	}
	if !sameType(locked.Key, key) {
		a.pl.diags.Add(p.Pos, diag.Changed, restore, "the key of processor %s changed from %s to %s", name, locked.Key, key)
	}
	a.states(p, locked)
	a.timers(p, locked)
}

func (a *assigner) states(p *Processor, locked *schemas.LockedProcessor) {
	declared := make(map[string]bool)
	var added []string
	for _, s := range p.States {
		declared[s.Schema.Name] = true
		if a.state(s, p, locked) {
			added = append(added, s.Field)
		}
	}
	for _, was := range locked.States {
		if was.Removed || declared[was.Name] {
			continue
		}
		a.pl.diags.Add(p.Pos, diag.Removed, a.renameFix(was.Name, "state", added),
			"processor %s lost its state %q (id %d, %s), whose content would be lost", p.Schema.Name, was.Name, was.ID, stateText(was.State))
	}
}

// renameFix says what to do about a lost name; added are the fields that are new.
func (a *assigner) renameFix(name, what string, added []string) string {
	if len(added) == 1 {
		return "if field " + added[0] + " is this " + what + " under a new name, keep the old one in its tag: `tws:\"" + name + "\"`; otherwise " + restore
	}
	return restore
}

func stateText(s schemas.State) string {
	if s.Key != nil {
		return "map from " + s.Key.String() + " to " + s.Value.String()
	}
	return string(s.Kind) + " of " + s.Value.String()
}

// state assigns a state's id; added is true if the lock does not know it.
func (a *assigner) state(s *State, p *Processor, locked *schemas.LockedProcessor) (added bool) {
	now := s.Schema
	now.Value = a.pl.wireType(s.Value)
	if now.Kind == schemas.MapState {
		key := a.pl.wireType(s.Key)
		now.Key = &key
	}
	i := slices.IndexFunc(locked.States, func(l schemas.LockedState) bool { return l.Name == now.Name && !l.Removed })
	if i < 0 {
		now.ID = locked.NextStateID
		locked.NextStateID++
		locked.States = append(locked.States, schemas.LockedState{State: now})
		s.Schema = now
		return true
	}
	was := &locked.States[i]
	now.ID, now.Version = was.ID, was.Version
	sameKey := (was.Key == nil) == (now.Key == nil) && (was.Key == nil || sameType(*was.Key, *now.Key))
	if was.Kind != now.Kind || !sameKey || !sameType(was.Value, now.Value) {
		a.pl.diags.Add(s.Pos, diag.Changed,
			"restore the type, declare a new state beside it, or "+startOver,
			"state %q of processor %s changed from %s to %s", now.Name, p.Schema.Name, stateText(was.State), stateText(now))
	}
	was.State = now
	s.Schema = now
	return false
}

func (a *assigner) timers(p *Processor, locked *schemas.LockedProcessor) {
	declared := make(map[string]bool)
	var added []string
	for _, t := range p.Timers {
		declared[t.Schema.Name] = true
		i := slices.IndexFunc(locked.Timers, func(l schemas.LockedTimer) bool { return l.Name == t.Schema.Name && !l.Removed })
		if i >= 0 {
			t.Schema = locked.Timers[i].Timer
			continue
		}
		t.Schema.ID = locked.NextTimerID
		locked.NextTimerID++
		locked.Timers = append(locked.Timers, schemas.LockedTimer{Timer: t.Schema})
		added = append(added, t.Field)
	}
	for _, was := range locked.Timers {
		if !was.Removed && !declared[was.Name] {
			a.pl.diags.Add(p.Pos, diag.Removed, a.renameFix(was.Name, "timer", added),
				"processor %s lost its timer %q (id %d): pending timers would never fire", p.Schema.Name, was.Name, was.ID)
		}
	}
}

func (a *assigner) lostProcessors() {
	for _, was := range a.lock.Processors {
		declared := slices.ContainsFunc(a.pl.out.Processors, func(p *Processor) bool { return p.Schema.Name == was.Name })
		if !was.Removed && !declared {
			a.pl.diags.Add(a.lockPosition(), diag.Removed, "if it is declared in a file with a build tag, pass the tag with -tags; otherwise restore it or its name, or "+startOver,
				"processor %q is in the lock file and not declared any more, so that its state would be lost", was.Name)
		}
	}
}
