package kafka

import (
	"context"
	"errors"
	"fmt"
)

// errEndsBefore says that a broker told of a log that it ends before what it should hold.
var errEndsBefore = errors.New("the log seemed to end before it")

// standstill is an offset of a partition that a broker did not give, though the log
// holds it.
type standstill struct {
	offset int64
	times  int // in a row
}

// stand notes that a partition cannot be fetched from an offset that its log holds.
// That passes while the cluster is in motion. It is told, and waited out with growing
// pauses, and is an error when the partition came no further for maxDoubts times.
func (f *feed) stand(ctx context.Context, n int32, offset int64, cause error) error {
	s := f.stuck[n]
	if s.offset != offset {
		s = standstill{offset: offset}
	}
	s.times++
	if f.stuck == nil {
		f.stuck = map[int32]standstill{}
	}
	f.stuck[n] = s
	l := f.ledger.logs[n].logID
	if s.times > maxDoubts {
		return f.errorf("%s: offset %d cannot be fetched, though the log holds it, as its leader said %d times: start again, and if that does not help look at the broker's log: %w", l, offset, s.times, cause)
	}
	if s.times == 1 {
		return nil
	}
	if worthTelling(s.times) {
		f.log.Warn("kafka: an offset cannot be fetched though the log holds it, will try again", "partition", l.String(), "offset", offset, "times", s.times, "error", cause)
	}
	if !wait(ctx, min(firstPause<<(s.times-2), maxTick)) {
		return fmt.Errorf("%s: %w", l, ctx.Err())
	}
	return nil
}
