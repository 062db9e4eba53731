package dialogue

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

//go:generate go tool tws-gen

// Command is an input row: do something with the states of a key.
type Command struct {
	Key string `json:"key"`
	Do  string `json:"do"`
}

// Result is an output row: what a command found.
type Result struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// Profile is a value that shares memory when it is copied carelessly.
type Profile struct {
	Name string
	Tags []string
	Note *string
	Home *Home
}

// Home is a part of a value.
type Home struct {
	City  string
	Rooms []Place
}

// Place is a map key of two parts, the first of any length.
type Place struct {
	City  string
	Floor int8
}

// Script carries out commands. It has every kind of state, with and without a
// time to live, named timers, and raw ones.
type Script struct {
	tws.Processor[string, Command, Result] `tws:"script,time=processing,output=update"`

	Count   tws.ValueState[int64]           `tws:"count"`
	Lease   tws.ValueState[int64]           `tws:"lease,ttl=60s"`
	Profile tws.ValueState[Profile]         `tws:"profile"`
	List    tws.ListState[string]           `tws:"list"`
	Numbers tws.ListState[int64]            `tws:"numbers"`
	Log     tws.ListState[string]           `tws:"log,ttl=90s"`
	Team    tws.ListState[Profile]          `tws:"team"`
	Map     tws.MapState[string, int64]     `tws:"map"`
	Cache   tws.MapState[int64, string]     `tws:"cache,ttl=60s"`
	Maybe   tws.MapState[string, *int64]    `tws:"maybe"`
	Places  tws.MapState[Place, int64]      `tws:"places"`
	Times   tws.MapState[time.Time, string] `tws:"times"`
	// Plans are commands to carry out when a timer fires, by its name.
	Plans  tws.MapState[string, string] `tws:"plans"`
	Alarm  tws.Timer                    `tws:"alarm"`
	Snooze tws.Timer                    `tws:"snooze"`

	things map[string]thing
}

// clock is what the contexts of all callbacks have in common.
type clock interface {
	ProcessingTime() time.Time
	RegisterTimer(at time.Time) error
	DeleteTimer(at time.Time) error
	ListTimers() ([]time.Time, error)
}

// errSkip leaves the rest of a key's rows unread.
var errSkip = errors.New("skip")

// HandleInputRows carries out the commands of a key.
func (s *Script) HandleInputRows(ctx *tws.InputContext, key string, rows iter.Seq[Command], out tws.Emitter[Result]) error {
	for row := range rows {
		err := s.do(ctx, key, row.Do, out)
		if errors.Is(err, errSkip) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// HandleExpiredTimer tells of the timer and carries out its plan.
func (s *Script) HandleExpiredTimer(ctx *tws.TimerContext, key string, t tws.ExpiredTimer, out tws.Emitter[Result]) error {
	plan, ok, err := fired(key, t, s.Plans, out)
	if err != nil || !ok {
		return err
	}
	for command := range strings.SplitSeq(plan, ";") {
		if err := s.do(ctx, key, strings.TrimSpace(command), out); err != nil {
			return err
		}
	}
	return nil
}

// fired tells of a timer and returns its plan, if it has one.
func fired(key string, t tws.ExpiredTimer, plans tws.MapState[string, string], out tws.Emitter[Result]) (plan string, ok bool, err error) {
	name := t.Name()
	if name == "" {
		name = "timer"
	}
	if err := out.Emit(Result{Key: key, Text: fmt.Sprintf("%s of %s fired", name, showInstant(t.Time()))}); err != nil {
		return "", false, err
	}
	return plans.Get(name)
}

// do carries out one command.
func (s *Script) do(ctx clock, key, command string, out tws.Emitter[Result]) error {
	return carryOut(key, command, func(words []string) (string, error) { return s.answer(ctx, words) }, out)
}

// carryOut emits what answer returns for a command, unless it is "".
func carryOut(key, command string, answer func(words []string) (string, error), out tws.Emitter[Result]) error {
	words, err := split(command)
	if err != nil {
		return err
	}
	text, err := answer(words)
	if err != nil {
		return fmt.Errorf("%q: %w", command, err)
	}
	if text == "" {
		return nil
	}
	return out.Emit(Result{Key: key, Text: command + " = " + text})
}

// answer returns the result of a command, "" if it has none.
func (s *Script) answer(ctx clock, words []string) (string, error) {
	name, rest := words[0], words[1:]
	switch name {
	case "now":
		return showInstant(ctx.ProcessingTime()), nil
	case "plan": // timer commands...
		return "", s.Plans.Update(rest[0], strings.Join(rest[1:], " "))
	case "skip":
		return "", errSkip
	case "fail":
		return "", errors.New(strings.Join(rest, " "))
	case "panic":
		panic(strings.Join(rest, " "))
	case "timer":
		return rawTimer(ctx, rest)
	case "alarm":
		return namedTimer(ctx, s.Alarm, rest)
	case "snooze":
		return namedTimer(ctx, s.Snooze, rest)
	}
	if s.things == nil {
		s.things = s.allThings()
	}
	if t, ok := s.things[name]; ok && len(rest) > 0 {
		return t.do(rest[0], rest[1:])
	}
	return "", errors.New("unknown command")
}

// allThings names the state variables.
func (s *Script) allThings() map[string]thing {
	return map[string]thing{
		"count":   value[int64]{s.Count, number},
		"lease":   value[int64]{s.Lease, number},
		"profile": value[Profile]{s.Profile, profile},
		"list":    list[string]{s.List, text},
		"numbers": list[int64]{s.Numbers, number},
		"log":     list[string]{s.Log, text},
		"team":    list[Profile]{s.Team, profile},
		"map":     table[string, int64]{s.Map, text, number},
		"cache":   table[int64, string]{s.Cache, number, text},
		"maybe":   table[string, *int64]{s.Maybe, text, optional},
		"places":  table[Place, int64]{s.Places, place, number},
		"times":   table[time.Time, string]{s.Times, instant, text},
		"plans":   table[string, string]{s.Plans, text, text},
	}
}

func namedTimer(ctx clock, t tws.Timer, words []string) (string, error) {
	switch words[0] {
	case "set":
		at, err := instantOf(ctx, words[1])
		if err != nil {
			return "", err
		}
		return "", t.Set(at)
	case "stop":
		return "", t.Stop()
	case "get":
		at, ok, err := t.Get()
		if err != nil || !ok {
			return "none", err
		}
		return showInstant(at), nil
	}
	return "", errors.New("unknown command")
}

func rawTimer(ctx clock, words []string) (string, error) {
	if words[0] == "list" {
		all, err := ctx.ListTimers()
		return showAll(all, showInstant), err
	}
	for _, word := range words[1:] {
		at, err := instantOf(ctx, word)
		if err != nil {
			return "", err
		}
		switch words[0] {
		case "set":
			err = ctx.RegisterTimer(at)
		case "delete":
			err = ctx.DeleteTimer(at)
		default:
			err = errors.New("unknown command")
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}
