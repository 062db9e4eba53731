package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// errGoexit reports a goroutine that ended without returning.
var errGoexit = errors.New("a function of the user ended its goroutine (runtime.Goexit), as t.FailNow and t.Fatal of a test do: return an error instead")

// crew is goroutines that work on one step of an epoch. The first error ends the
// others' context. User code runs in them, so that one which never returns, since
// it ended its goroutine, is an error and not the end of its work.
type crew struct {
	group *errgroup.Group
	away  atomic.Int64 // goroutines that have not returned
}

func (c *crew) start(ctx context.Context) context.Context {
	c.group, ctx = errgroup.WithContext(ctx)
	return ctx
}

func (c *crew) add(do func() error) {
	c.away.Add(1)
	c.group.Go(func() error {
		err := do()
		c.away.Add(-1)
		return err
	})
}

func (c *crew) wait() error {
	if err := c.group.Wait(); err != nil || c.away.Load() == 0 {
		return err
	}
	return errGoexit
}
