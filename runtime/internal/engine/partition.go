package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
)

// partition is one state partition of a unit: a range of key groups, their
// store, and every stage's instance over them. One goroutine works on it at a
// time.
type partition struct {
	number int
	st     store.Store
	over   *overlay
	stages []*stagePartition
	batch  store.Batch
}

// stagePartition is one stage in one partition.
type stagePartition struct {
	stage    *Stage
	session  *Session
	instance Instance
	timers   *timerIndex
	metrics  sessionMetrics
	down     *Lane // of the next stage's exchange; nil if there is none
	cut      bool  // the last timer phase ended at its limit
	again    int64 // timers that the last timer phase set for now or before

	rows  Rows         // reused from session to session
	order []sessionKey // reused from epoch to epoch
	runs  []keyRun
	due   []dueTimer
	arena []byte
}

// sessionMetrics counts what sessions did in one epoch.
type sessionMetrics struct {
	keys, timers, puts, deletes int64
	timersSet, timersCancelled  int64
}

func (m *sessionMetrics) addTo(s *epoch.Stats) {
	s.Keys += m.keys
	s.Timers += m.timers
	s.TimersSet += m.timersSet
	s.TimersCancelled += m.timersCancelled
	s.StatePuts += m.puts
	s.StateDeletes += m.deletes
}

func openPartition(number, partitions, groups int, st store.Store, stages []*Stage, b *budget) (*partition, error) {
	p := &partition{number: number, st: st, over: newOverlay(st, b)}
	from, to := store.GroupRange(number, partitions, groups)
	for op, stage := range stages {
		timers, err := newTimerIndex(byte(op), from, to, p.over)
		if err != nil {
			return p, err
		}
		sp := &stagePartition{stage: stage, timers: timers}
		if op+1 < len(stages) {
			sp.down = stages[op+1].Exchange.Lane(number)
		}
		sp.session = newSession(byte(op), stage.Schema, p.over, timers, &sp.metrics)
		p.stages = append(p.stages, sp)
		if sp.instance, err = stage.Open(number, sp.session); err != nil {
			return p, err
		}
	}
	return p, nil
}

// beginEpoch drops the changes of the epoch before, which the store has by now.
func (p *partition) beginEpoch(nowMicros int64, watermark instant) {
	p.over.reset()
	for _, sp := range p.stages {
		sp.session.setTime(nowMicros, watermark)
		sp.metrics = sessionMetrics{}
	}
}

// runStage runs one stage's sessions: every key that has rows, in key group and
// key order, then every due timer, in the order of time, key and id.
func (p *partition) runStage(ctx context.Context, i int, timerLimit int64) error {
	sp := p.stages[i]
	if err := sp.runInput(ctx, p.number); err != nil {
		return err
	}
	return sp.fireTimers(ctx, timerLimit)
}

func (sp *stagePartition) runInput(ctx context.Context, number int) error {
	x := sp.stage.Exchange
	sp.order = x.sessions(number, sp.order)
	for rest := sp.order; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest = sp.takeChunk(number, rest)
		if err := sp.session.ahead.read(); err != nil {
			return err
		}
		for n, run := range sp.runs {
			if err := sp.inputSession(ctx, number, n, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeChunk moves the next sessions from the list into sp.runs and names their
// keys to the read-ahead.
func (sp *stagePartition) takeChunk(number int, rest []sessionKey) []sessionKey {
	sp.runs = sp.runs[:0]
	sp.session.ahead.start()
	for len(rest) > 0 && len(sp.runs) < chunkKeys {
		var run keyRun
		run, rest = sp.stage.Exchange.nextRun(number, rest)
		sp.runs = append(sp.runs, run)
		sp.session.ahead.add(run.group, run.key)
	}
	return rest
}

func (sp *stagePartition) inputSession(ctx context.Context, number, n int, run keyRun) error {
	sp.metrics.keys++
	sp.rows.begin(sp.stage.Exchange, number, run.parts)
	sp.down.from(origin{group: run.group}, run.key)
	sp.session.begin(inputPhase, run.group, run.key, n)
	return errors.Join(sp.instance.Input(ctx, run.key, &sp.rows), sp.session.end())
}

// fireTimers fires what is due at the epoch's clock, or watermark, as the timers
// stood when the phase began; at most limit of them, the rest waits for the next epoch.
func (sp *stagePartition) fireTimers(ctx context.Context, limit int64) error {
	sp.cut, sp.again = false, 0
	if !sp.session.due.set {
		return nil
	}
	due, err := sp.timers.due(sp.session.due.micros)
	if err != nil {
		return err
	}
	defer sp.endTimers(due)
	for sp.metrics.timers < limit {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := sp.takeDue(due, limit-sp.metrics.timers); err != nil || len(sp.due) == 0 {
			return err
		}
		if err := sp.session.ahead.read(); err != nil {
			return err
		}
		for n, t := range sp.due {
			if err := sp.timerSession(ctx, n, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// endTimers ends a timer phase.
func (sp *stagePartition) endTimers(due *dueScan) {
	sp.cut, sp.again = due.Len() > 0, int64(len(sp.timers.added))
	due.close()
	clear(sp.timers.added)
}

func (sp *stagePartition) takeDue(scan *dueScan, limit int64) error {
	sp.due, sp.arena = sp.due[:0], sp.arena[:0]
	sp.session.ahead.start()
	for len(sp.due) < chunkKeys && int64(len(sp.due)) < limit {
		t, arena, ok, err := scan.next(sp.arena)
		if err != nil || !ok {
			return err
		}
		sp.arena = arena
		sp.due = append(sp.due, t)
		sp.session.ahead.add(t.group, t.key)
	}
	return nil
}

func (sp *stagePartition) timerSession(ctx context.Context, n int, t dueTimer) error {
	s := sp.session
	s.begin(timerPhase, t.group, t.key, n)
	sp.down.from(origin{timer: true, group: t.group, id: t.id, micros: t.micros}, t.key)
	pending, err := s.take(t)
	if err == nil && pending {
		sp.metrics.timers++
		err = sp.instance.Timer(ctx, t.key, FiredTimer{Micros: t.micros, ID: int(t.id)})
	}
	return errors.Join(err, s.end())
}

// changes returns the epoch's changes as one batch that brings the store to mark.
func (p *partition) changes(mark store.Mark) []byte {
	p.batch.Reset(mark)
	p.over.writeTo(&p.batch)
	return p.batch.Bytes()
}

func (p *partition) close() error {
	var errs []error
	for _, sp := range p.stages {
		if sp.instance == nil {
			continue
		}
		if err := sp.instance.Close(); err != nil {
			errs = append(errs, fmt.Errorf("engine: close processor %s: %w", sp.stage.Schema.Name, err))
		}
	}
	return errors.Join(append(errs, p.st.Close())...)
}
