// Package sessions turns clicks into sessions by event time: clicks of a user with
// less than a gap between them, whatever the order in which they come.
package sessions

import (
	"iter"
	"slices"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/kafka"
)

//go:generate go tool tws-gen

// Click is a message of the topic clicks.
type Click struct {
	User string    `json:"user"`
	Page string    `json:"page"`
	At   time.Time `json:"at"`
}

// Session is a row of the table userSessions.
type Session struct {
	User   string    `json:"user"`
	Clicks int64     `json:"clicks"`
	Start  time.Time `json:"start"` // the first click
	End    time.Time `json:"end"`   // the last click
}

// Sessionize emits a Session when no click that belongs to it can come any more.
type Sessionize struct {
	tws.Processor[string, Click, Session] `tws:"sessionize,time=event"`

	Open tws.ListState[Session] `tws:"open"` // by start, Gap or more between them
	Idle tws.Timer              `tws:"idle"` // Gap after the end of the first

	Gap time.Duration
}

// HandleInputRows merges clicks into the open sessions. A click may join two.
func (s *Sessionize) HandleInputRows(_ *tws.InputContext, user string, clicks iter.Seq[Click], _ tws.Emitter[Session]) error {
	all := slices.Collect(s.Open.All())
	for c := range clicks {
		all = append(all, Session{User: user, Clicks: 1, Start: c.At, End: c.At})
	}
	slices.SortFunc(all, func(a, b Session) int { return a.Start.Compare(b.Start) })
	var open []Session
	for _, next := range all {
		n := len(open)
		if n == 0 || !next.Start.Before(open[n-1].End.Add(s.Gap)) {
			open = append(open, next)
			continue
		}
		last := &open[n-1]
		last.Clicks += next.Clicks
		if next.End.After(last.End) {
			last.End = next.End
		}
	}
	return s.keep(open)
}

// HandleExpiredTimer emits the sessions that the watermark is Gap behind.
func (s *Sessionize) HandleExpiredTimer(ctx *tws.TimerContext, _ string, _ tws.ExpiredTimer, out tws.Emitter[Session]) error {
	watermark, _ := ctx.Watermark() // there is one, or no timer would fire
	open := slices.Collect(s.Open.All())
	for len(open) > 0 && !open[0].End.Add(s.Gap).After(watermark) {
		if err := out.Emit(open[0]); err != nil {
			return err
		}
		open = open[1:]
	}
	return s.keep(open)
}

// keep remembers the open sessions, and wakes up when the first is over.
func (s *Sessionize) keep(open []Session) error {
	if err := s.Open.Put(open); err != nil || len(open) == 0 {
		return err
	}
	return s.Idle.Set(open[0].End.Add(s.Gap))
}

// UserSessions lists sessions that are over.
//
//tws:table
var UserSessions tws.StreamingTable[Session]

// FindSessions reads the topic clicks.
//
//tws:flow target=UserSessions
func FindSessions(f *tws.Flow) tws.Stream[Session] {
	clicks := tws.ReadStream(f, kafka.Source[Click]{Topic: "clicks"})
	timed := tws.WithWatermark(clicks, func(c Click) time.Time { return c.At }, f.Duration("delay", time.Minute))
	gap := f.Duration("gap", 5*time.Minute)
	return tws.TransformWithState(
		tws.GroupBy(timed, func(c Click) string { return c.User }),
		func() *Sessionize { return &Sessionize{Gap: gap} },
	)
}
