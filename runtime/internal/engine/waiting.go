package engine

import (
	"math"
	"time"
)

// tellWaiting says, at the end of a run over what is there, that timers by event
// time are set and wait for a watermark: nothing else shows that rows were read and
// why nothing came of them.
func (u *Unit) tellWaiting() {
	at := int64(math.MaxInt64)
	for _, p := range u.partitions {
		for _, sp := range p.stages {
			if !sp.session.eventTime() {
				continue
			}
			next, err := sp.timers.next()
			if err != nil {
				return // the next epoch reports it
			}
			at = min(at, next)
		}
	}
	if at == math.MaxInt64 {
		return
	}
	watermark := "unset"
	if w := instantOf(u.last.Plan.WatermarkMicros); w.set {
		watermark = time.UnixMicro(w.micros).UTC().Format(time.RFC3339Nano)
	}
	u.log.Info("timers wait for the watermark, which rows of a later time move; a partition without rows holds it back for a minute after it was first seen",
		"watermark", watermark, "next_timer", time.UnixMicro(at).UTC())
}
