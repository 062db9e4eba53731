package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
)

// loss is what the client told of a partition whose log a new leader has cut behind
// what was fetched. The client tells it once, and to whoever polls next, even if the
// partition is not fetched any more then, or from elsewhere: so it is kept until the
// partition is fetched in a way that shows whether it matters.
type loss struct {
	id  uuid // of the topic that was fetched
	err *kgo.ErrDataLoss
}

// lossOf returns the loss that an error tells, nil for none.
func lossOf(err error) *kgo.ErrDataLoss {
	e, _ := errors.AsType[*kgo.ErrDataLoss](err)
	return e
}

// keepLoss keeps a loss of a partition; of several, the one that reaches back the
// furthest. The caller holds mu.
func (f *fetcher) keepLoss(b *backlog, e *kgo.ErrDataLoss) {
	if e == nil {
		return
	}
	before, ok := f.losses[b.log]
	if ok && !before.id.differs(b.id) && before.err.ResetTo <= e.ResetTo {
		return
	}
	f.losses[b.log] = loss{b.id, e}
}

// keepLosses keeps the losses among what a poll brought.
func (f *fetcher) keepLosses(fetches kgo.Fetches) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fetches.EachError(func(topic string, partition int32, err error) {
		if b := f.byLog[logID{topic, partition}]; b != nil {
			f.keepLoss(b, lossOf(err))
		}
	})
}

// clear takes a failure from a partition, and keeps the loss if it is one. The caller
// holds mu.
func (f *fetcher) clear(b *backlog) {
	if b.failure != nil {
		f.keepLoss(b, lossOf(b.failure.err))
		b.failure = nil
	}
}

// tellLoss makes a partition fail of the loss that is kept of it, if it is one for
// what is fetched now. The caller holds mu.
func (f *fetcher) tellLoss(b *backlog) {
	kept, ok := f.losses[b.log]
	if !ok {
		return
	}
	delete(f.losses, b.log)
	if !kept.id.differs(b.id) && kept.err.ResetTo < min(b.next, b.bound) {
		b.fail(outOfRange, kept.err)
	}
}
