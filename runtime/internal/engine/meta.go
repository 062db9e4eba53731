package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/schemas"
)

// declaredMeta is what the flow's checkpoint would be made with now.
func (u *Unit) declaredMeta() checkpoint.FlowMeta {
	m := checkpoint.FlowMeta{Partitions: u.config.Partitions, Target: u.flow.Target, Store: u.config.Stores.Name()}
	for _, s := range u.flow.Stages {
		m.Operators = append(m.Operators, s.Schema)
	}
	for _, s := range u.flow.Sources {
		m.Sources = append(m.Sources, s.Name())
	}
	return m
}

// ErrFlowChanged marks the refusal of a flow that does not fit its checkpoint.
var ErrFlowChanged = errors.New("the flow does not fit its checkpoint")

// compatibleMeta refuses a flow that cannot go on from its checkpoint.
func compatibleMeta(stored, declared checkpoint.FlowMeta) error {
	if len(stored.Operators) != len(declared.Operators) {
		return fmt.Errorf("%w: it was made with %d stateful operators, the flow now has %d: give the changed flow another name, or start it from a fresh checkpoint",
			ErrFlowChanged, len(stored.Operators), len(declared.Operators))
	}
	if stored.Target != declared.Target {
		return fmt.Errorf("%w: it was made with target %s, the flow now writes %s: give the changed flow another name, or start it from a fresh checkpoint",
			ErrFlowChanged, stored.Target, declared.Target)
	}
	for i := range stored.Operators {
		if err := schemas.Compatible(stored.Operators[i], declared.Operators[i]); err != nil {
			return fmt.Errorf("%w: %w", ErrFlowChanged, err)
		}
	}
	return nil
}

// checkStore refuses another kind of state store than the one that made the
// checkpoint's snapshots. Without a snapshot any store is made from the
// changelogs.
func (u *Unit) checkStore(stored, declared checkpoint.FlowMeta) error {
	if stored.Store == declared.Store {
		return nil
	}
	_, snapshots, err := u.dir.NewestSnapshot(math.MaxInt64)
	if err != nil || !snapshots {
		return err
	}
	return fmt.Errorf("%w: its snapshots were made by the %s store, this run has the %s store: run with --store %s, in a binary that has it",
		ErrFlowChanged, stored.Store, declared.Store, stored.Store)
}

// warnRenamed warns of a source that is new while another has gone: a source's name
// is its identity, so that a renamed one is read from its start. One that was here
// before, and is back, goes on where it was.
func (u *Unit) warnRenamed(stored, declared checkpoint.FlowMeta) {
	gone := slices.DeleteFunc(slices.Clone(stored.Sources), func(s string) bool { return slices.Contains(declared.Sources, s) })
	fresh := slices.DeleteFunc(slices.Clone(declared.Sources), func(s string) bool {
		return slices.Contains(stored.Sources, s) || slices.ContainsFunc(u.last.Plan.Sources, func(p checkpoint.SourceRange) bool { return p.Name == s })
	})
	if len(gone) > 0 && len(fresh) > 0 && u.last.Epoch > 0 {
		u.log.Warn("sources are new in this flow while others have gone; one that was only renamed is read from its start again",
			"new", fresh, "gone", gone)
	}
}
