package engine

import (
	"fmt"
	"reflect"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/schemas"
)

// declaredMeta is what the flow's checkpoint would be made with now.
func (u *Unit) declaredMeta() checkpoint.FlowMeta {
	m := checkpoint.FlowMeta{Partitions: u.config.Partitions, Target: u.flow.Target}
	for _, s := range u.flow.Stages {
		m.Operators = append(m.Operators, s.Schema)
	}
	for _, s := range u.flow.Sources {
		m.Sources = append(m.Sources, s.Name())
	}
	return m
}

// compatibleMeta refuses a flow that cannot go on from its checkpoint.
func compatibleMeta(stored, declared checkpoint.FlowMeta) error {
	if len(stored.Operators) != len(declared.Operators) {
		return fmt.Errorf("the checkpoint was made with %d stateful operators, the flow now has %d: give the changed flow another name, or start it from a fresh checkpoint",
			len(stored.Operators), len(declared.Operators))
	}
	if stored.Target != declared.Target {
		return fmt.Errorf("the checkpoint was made with target %s, the flow now writes %s: give the changed flow another name, or start it from a fresh checkpoint",
			stored.Target, declared.Target)
	}
	for i := range stored.Operators {
		if err := schemas.Compatible(stored.Operators[i], declared.Operators[i]); err != nil {
			return err
		}
	}
	return nil
}

func sameMeta(a, b checkpoint.FlowMeta) bool {
	a.Build, b.Build = "", ""
	return reflect.DeepEqual(a, b)
}
