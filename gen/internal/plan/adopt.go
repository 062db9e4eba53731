package plan

import (
	"slices"

	"github.com/tws-go/tws/schemas"
)

// adoptRenames follows Go types that were renamed or moved to another package,
// which changes no bytes: where a stored state or key held a struct that is gone
// and now holds one that the lock does not know, the lock's entry goes on under
// the new name. Whether its fields are the same is checked afterwards, as for
// every struct.
func (a *assigner) adoptRenames() {
	f := &follower{assigner: a, seen: make(map[pair]bool)}
	for _, p := range a.pl.out.Processors {
		locked := a.lock.Processor(p.Schema.Name)
		if locked == nil {
			continue
		}
		f.follow(locked.Key, p.Key)
		for _, s := range p.States {
			i := slices.IndexFunc(locked.States, func(l schemas.LockedState) bool { return l.Name == s.Schema.Name && !l.Removed })
			if i < 0 {
				continue
			}
			if key := locked.States[i].Key; key != nil && s.Schema.Kind == schemas.MapState {
				f.follow(*key, s.Key)
			}
			f.follow(locked.States[i].Value, s.Value)
		}
	}
}

// follower looks at every pair of a lock's struct and a declared one once.
type follower struct {
	*assigner
	seen map[pair]bool
}

type pair struct {
	was string
	now *Struct
}

// follow compares what the lock holds at one place with what is declared there.
func (a *follower) follow(was schemas.Type, now Value) {
	switch {
	case was.Kind == schemas.List && now.Elem != nil:
		a.follow(*was.Elem, *now.Elem)
	case was.Kind == schemas.Struct && now.Struct != nil:
		p := pair{was.Name, now.Struct}
		if a.seen[p] {
			return
		}
		a.seen[p] = true
		name := a.pl.qualified(now.Struct.Go)
		if was.Name != name && a.pl.structs[was.Name] == nil {
			a.rename(was.Name, name)
		}
		locked := a.lock.Struct(name)
		if locked == nil {
			return
		}
		for _, f := range now.Struct.Fields {
			i := slices.IndexFunc(locked.Fields, func(l schemas.LockedField) bool { return l.Name == f.Wire && !l.Removed })
			if i >= 0 {
				a.follow(locked.Fields[i].Type, f.Value)
			}
		}
	}
}

// rename gives a struct of the lock another name, unless that one is in use.
func (a *assigner) rename(old, name string) {
	if a.lock.Struct(name) != nil || a.lock.Struct(old) == nil {
		return
	}
	a.lock.Struct(old).Name = name
	for i := range a.lock.Structs {
		fields := a.lock.Structs[i].Fields
		for j := range fields {
			fields[j].Type = renamed(fields[j].Type, old, name)
		}
	}
	for i := range a.lock.Processors {
		p := &a.lock.Processors[i]
		p.Key = renamed(p.Key, old, name)
		for j := range p.States {
			s := &p.States[j]
			s.Value = renamed(s.Value, old, name)
			if s.Key != nil {
				key := renamed(*s.Key, old, name)
				s.Key = &key
			}
		}
	}
}

func renamed(t schemas.Type, old, name string) schemas.Type {
	if t.Kind == schemas.Struct && t.Name == old {
		t.Name = name
	}
	if t.Elem != nil {
		elem := renamed(*t.Elem, old, name)
		t.Elem = &elem
	}
	return t
}
