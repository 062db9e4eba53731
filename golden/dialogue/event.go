package dialogue

import (
	"errors"
	"iter"
	"strings"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

// Delay is how far the watermark of [EventFlow] stays behind.
const Delay = 10 * time.Second

// EventFlow sends the commands of a source to an [EventScript]. Each begins with
// the instant that it happens at: "at 5s count add 1".
func EventFlow(source tws.Source[Command]) func(*tws.Flow) tws.Stream[Result] {
	return func(f *tws.Flow) tws.Stream[Result] {
		timed := tws.WithWatermark(tws.ReadStream(f, source), Command.at, Delay)
		return tws.TransformWithState(
			tws.GroupBy(timed, func(c Command) string { return c.Key }),
			func() *EventScript { return new(EventScript) },
		)
	}
}

// at is when a command happens; without a word on it, at the start of time.
func (c Command) at() time.Time {
	word, _ := c.parts()
	at, err := parseInstant(word)
	if err != nil {
		return start
	}
	return at
}

// parts takes a command apart into its instant and what to do then.
func (c Command) parts() (at, do string) {
	rest, ok := strings.CutPrefix(c.Do, "at ")
	if !ok {
		return "", c.Do
	}
	at, do, _ = strings.Cut(rest, " ")
	return at, do
}

// EventScript carries out commands in event time.
type EventScript struct {
	tws.Processor[string, Command, Result] `tws:"eventScript,time=event,output=update"`

	Count tws.ValueState[int64]        `tws:"count"`
	Plans tws.MapState[string, string] `tws:"plans"`
	Alarm tws.Timer                    `tws:"alarm"`
}

// eventClock is what the contexts of all callbacks have in common.
type eventClock interface {
	clock
	Watermark() (time.Time, bool)
}

// HandleInputRows carries out the commands of a key.
func (s *EventScript) HandleInputRows(ctx *tws.InputContext, key string, rows iter.Seq[Command], out tws.Emitter[Result]) error {
	for row := range rows {
		_, do := row.parts()
		if err := s.do(ctx, key, do, out); err != nil {
			return err
		}
	}
	return nil
}

// HandleExpiredTimer tells of the timer and carries out its plan.
func (s *EventScript) HandleExpiredTimer(ctx *tws.TimerContext, key string, t tws.ExpiredTimer, out tws.Emitter[Result]) error {
	plan, ok, err := fired(key, t, s.Plans, out)
	if err != nil || !ok {
		return err
	}
	return s.do(ctx, key, plan, out)
}

func (s *EventScript) do(ctx eventClock, key, command string, out tws.Emitter[Result]) error {
	return carryOut(key, command, func(words []string) (string, error) { return s.answer(ctx, words) }, out)
}

func (s *EventScript) answer(ctx eventClock, words []string) (string, error) {
	name, rest := words[0], words[1:]
	switch name {
	case "watermark":
		at, ok := ctx.Watermark()
		if !ok {
			return "unset", nil
		}
		return showInstant(at), nil
	case "count":
		return value[int64]{s.Count, number}.do(rest[0], rest[1:])
	case "plan":
		return "", s.Plans.Update(rest[0], strings.Join(rest[1:], " "))
	case "timer":
		return rawTimer(ctx, rest)
	case "alarm":
		return namedTimer(ctx, s.Alarm, rest)
	}
	return "", errors.New("unknown command")
}
