package kafka

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

const (
	commitEvery   = time.Second
	commitTimeout = 5 * time.Second
	// failuresTold is every how many failed commits one is told of: they are at
	// least commitEvery apart.
	failuresTold = int(time.Minute / commitEvery)
)

// committer commits offsets to a consumer group, for whoever watches the lag. It
// has no members, works in the background, and nothing depends on it.
type committer struct {
	admin   *kadm.Client
	group   string
	cluster string
	log     *slog.Logger
	stop    chan struct{}
	stopped chan struct{}

	mu      sync.Mutex
	pending map[logID]int64 // nil for none
	wake    chan struct{}
}

func startCommitter(admin *kadm.Client, group, cluster string, log *slog.Logger) *committer {
	c := &committer{
		admin: admin, group: group, cluster: cluster, log: log,
		stop: make(chan struct{}), stopped: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	go c.run()
	return c
}

// put makes offsets the next to be committed. It does not wait.
func (c *committer) put(offsets map[logID]int64) {
	c.mu.Lock()
	c.pending = offsets
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close commits what is pending and ends.
func (c *committer) close() {
	close(c.stop)
	<-c.stopped
}

func (c *committer) run() {
	defer close(c.stopped)
	failures := 0
	for stop := false; !stop; {
		select {
		case <-c.wake:
		case <-c.stop:
			stop = true
		}
		if err := c.commit(); err == nil {
			failures = 0
		} else {
			if failures%failuresTold == 0 {
				c.log.Warn("kafka: cannot commit offsets to the group, which only shows the lag", "group", c.group, "error", explain(c.cluster, "", err))
			}
			failures++
		}
		timer := time.NewTimer(commitEvery)
		select {
		case <-timer.C:
		case <-c.stop:
		}
		timer.Stop()
	}
}

func (c *committer) commit() error {
	c.mu.Lock()
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	offsets := kadm.Offsets{}
	for l, offset := range pending {
		offsets.AddOffset(l.topic, l.partition, offset, -1)
	}
	return c.admin.CommitAllOffsets(ctx, c.group, offsets)
}
