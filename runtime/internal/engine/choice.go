package engine

import (
	"context"
	"fmt"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// What may become of an epoch in doubt whose record is lost; see [Config].
const (
	InDoubtRerun     = "rerun"
	InDoubtCommitted = "committed"
)

// overrule goes on without the sink's record, if somebody has chosen how. What is
// taken as committed is decided before the sink takes up its record again. The choice
// stands until the sink has, so a crash in between asks nobody twice.
func (u *Unit) overrule(ctx context.Context, sink stream.Decider, doubt *checkpoint.Decision, missing error) error {
	choice, err := u.choose(doubt)
	if err != nil {
		return err
	}
	if choice == "" {
		return fmt.Errorf("%s: %w", u.flow.Target, missing)
	}
	u.log.Warn("the sink has lost its record of this flow; going on as told", "in-doubt", choice, "error", missing)
	if doubt != nil && choice == InDoubtCommitted {
		if err := u.adopt(*doubt); err != nil {
			return err
		}
	}
	standing := u.standing()
	standing.Unknown = true
	if _, err := sink.Settle(ctx, standing); err != nil {
		return fmt.Errorf("%s: %w", u.flow.Target, err)
	}
	return u.dropChoice()
}

// choose returns the choice of this start, once it is durable, or else that of an
// earlier start which ended before the sink had a record again; "" if there is none.
func (u *Unit) choose(doubt *checkpoint.Decision) (string, error) {
	stands, ok, err := u.dir.Choice()
	if err != nil {
		return "", err
	}
	made := checkpoint.Choice{Epoch: u.last.Epoch + 1, InDoubt: u.config.InDoubt}
	if doubt != nil {
		made.Attempt = doubt.Attempt
	}
	switch {
	case made.InDoubt != "":
		return made.InDoubt, u.between(epoch.BeforeChoice, epoch.AfterChoice, func() error { return u.dir.PutChoice(made) })
	case ok && (stands.Epoch == made.Epoch && stands.Attempt == made.Attempt || doubt == nil && u.adopted(stands)):
		return stands.InDoubt, nil
	}
	return "", nil
}

// adopted reports whether the last decision came of a choice.
func (u *Unit) adopted(c checkpoint.Choice) bool {
	return c.InDoubt == InDoubtCommitted && c.Epoch == u.last.Epoch && c.Attempt == u.last.Attempt
}

// dropChoice forgets a choice: the sink has a record again.
func (u *Unit) dropChoice() error {
	_, ok, err := u.dir.Choice()
	if err != nil || !ok {
		return err
	}
	return u.between(epoch.BeforeDropChoice, epoch.AfterDropChoice, u.dir.ClearChoice)
}
