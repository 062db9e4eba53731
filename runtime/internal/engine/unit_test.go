package engine

import (
	"context"
	"errors"

	"github.com/tws-go/tws/runtime/checkpoint"
)

// openUnit opens a unit that is alone in its process.
func openUnit(c *checkpoint.Checkpoint, flow *Flow, config Config) (*Unit, error) {
	u, err := NewUnit(c, flow, config)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{u.OpenSources, u.OpenSink, u.Recover} {
		if err := step(context.Background()); err != nil {
			return nil, errors.Join(err, u.Close())
		}
	}
	return u, nil
}
