package engine

import (
	"context"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// overrule asks the sink once more, with the user's choice in case the record is lost
// indeed. The sink takes the choice up as its record, and the checkpoint after it. The
// choice stands until both have, so a crash in between asks nobody twice.
func (u *Unit) overrule(ctx context.Context, sink stream.Decider, standing stream.Standing, missing error) (committed bool, err error) {
	standing.InDoubt, err = u.choose(standing.Doubt)
	if err != nil {
		return false, err
	}
	if standing.InDoubt == "" {
		return false, missing
	}
	u.log.Warn("the sink has lost its record of this flow; going on as told", "in-doubt", standing.InDoubt, "error", missing)
	return sink.Settle(ctx, standing)
}

// choose returns the choice of this start, once it is durable, or else that of an
// earlier start which ended before it was carried out; "" if there is none.
func (u *Unit) choose(doubt *stream.Publication) (string, error) {
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
	case ok && stands.Epoch == made.Epoch && stands.Attempt == made.Attempt:
		return stands.InDoubt, nil
	}
	return "", nil
}

// dropChoice forgets a choice: it is carried out, or was not needed.
func (u *Unit) dropChoice() error {
	_, ok, err := u.dir.Choice()
	if err != nil || !ok {
		return err
	}
	return u.between(epoch.BeforeDropChoice, epoch.AfterDropChoice, u.dir.ClearChoice)
}
