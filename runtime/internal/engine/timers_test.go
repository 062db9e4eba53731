package engine

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// timerTeller emits what fires, and does what do says then.
func timerTeller(do func(s *Session, key string, t FiredTimer) error) *handler {
	return &handler{timer: func(s *Session, key string, t FiredTimer, emit func(key, row string) error) error {
		if err := emit(key, fmt.Sprintf("%s:%d:%d", key, t.Micros, t.ID)); err != nil || do == nil {
			return err
		}
		return do(s, key, t)
	}}
}

// setTimers makes each row an instant to register for its key.
func setTimers(s *Session, _ string, rows []string, _ func(key, row string) error) error {
	for _, row := range rows {
		var micros int64
		if _, err := fmt.Sscan(row, &micros); err != nil {
			return err
		}
		if err := s.RegisterTimer(micros); err != nil {
			return err
		}
	}
	return nil
}

// C-118 B-23: what is due fires in the order of time, then key, then id, over all
// keys of a partition, negative instants too.
func TestTimerOrder(t *testing.T) {
	t.Parallel()
	h := timerTeller(nil)
	h.input = setTimers
	r := newRig(t, h)
	r.config.Partitions = 1
	r.row("b", "30", "9").row("a", "100", "-1", "9").row("c", "256", "9", "-9223372036854775808")
	r.clock.set(math.MaxInt32)
	equal(t, "timers", r.mustRun(), []string{
		"c:-9223372036854775808:0", "a:-1:0", "a:9:0", "b:9:0", "c:9:0", "b:30:0", "a:100:0", "c:256:0",
	})
}

// timerModel is what timers a flow has.
type timerModel map[string]bool // "key:micros:id"

func (m timerModel) due(now int64) []string {
	var all []string
	for timer := range m {
		if _, micros, _ := splitTimer(timer); micros <= now {
			all = append(all, timer)
		}
	}
	return all
}

func (m timerModel) next() int64 {
	next := int64(math.MaxInt64)
	for timer := range m {
		_, micros, _ := splitTimer(timer)
		next = min(next, micros)
	}
	return next
}

func splitTimer(s string) (key string, micros int64, id int) {
	parts := strings.Split(s, ":")
	fmt.Sscan(parts[1], &micros)
	fmt.Sscan(parts[2], &id)
	return parts[0], micros, id
}

// timerOp is a change of timers by a session.
type timerOp struct {
	op     int
	micros int64
}

func (m timerModel) apply(key string, op timerOp) {
	raw := fmt.Sprintf("%s:%d:0", key, op.micros)
	unset := func(id int) {
		maps.DeleteFunc(m, func(t string, _ bool) bool {
			k, _, i := splitTimer(t)
			return k == key && i == id
		})
	}
	switch op.op {
	case 0, 1:
		m[raw] = true
	case 2:
		delete(m, raw)
	case 3, 4: // named timers 1 and 3
		id := 1 + 2*(op.op-3)
		unset(id)
		m[fmt.Sprintf("%s:%d:%d", key, op.micros, id)] = true
	case 5:
		unset(1)
	}
}

func (op timerOp) do(s *Session) error {
	switch op.op {
	case 0, 1:
		return s.RegisterTimer(op.micros)
	case 2:
		return s.DeleteTimer(op.micros)
	case 3, 4:
		return s.SetTimer(1+2*(op.op-3), op.micros)
	default:
		return s.StopTimer(1)
	}
}

// B-19 B-22 B-23: whatever is registered, deleted, moved and stopped, before or
// after now, each timer that is left fires once when it is due, nothing else does,
// and the next instant is always told right; restarts change nothing.
func TestTimerModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 3))
			h := timerTeller(nil)
			h.input = func(s *Session, _ string, rows []string, _ func(key, row string) error) error {
				for _, row := range rows {
					var op timerOp
					if _, err := fmt.Sscan(row, &op.op, &op.micros); err != nil {
						return err
					}
					if err := op.do(s); err != nil {
						return err
					}
				}
				return nil
			}
			r := newRig(t, h)
			r.config.Partitions = 1 + rnd.IntN(4)
			m := timerModel{}
			for now := int64(100); now < 1500; now += rnd.Int64N(40) {
				r.clock.set(now)
				for range rnd.IntN(12) {
					key := fmt.Sprintf("k%d", rnd.IntN(6))
					op := timerOp{rnd.IntN(6), now - 60 + rnd.Int64N(200)}
					r.row(key, fmt.Sprint(op.op, op.micros))
					m.apply(key, op)
				}
				checkTimers(t, r, m, now)
				if rnd.IntN(5) == 0 {
					r.close()
				}
			}
		})
	}
}

func checkTimers(t *testing.T, r *rig, m timerModel, now int64) {
	t.Helper()
	got, want := r.mustRun(), m.due(now)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("at %d fired %q, want %q", now, got, want)
	}
	for _, timer := range want {
		delete(m, timer)
	}
	next, err := r.unit.nextTimer()
	if err != nil || next != m.next() {
		t.Fatalf("at %d the next timer is at %d, want %d: %v", now, next, m.next(), err)
	}
}

// B-91: a timer that has fired is not walked again, while rows keep coming and
// when they do not.
func TestTimerBounds(t *testing.T) {
	t.Parallel()
	h := timerTeller(nil)
	h.input = setTimers
	r := newRig(t, h)
	r.config.Partitions = 1
	for now := int64(10); now < 200; now += 10 {
		r.clock.set(now)
		r.row("key", fmt.Sprint(now+5), fmt.Sprint(now-1))
		r.mustRun()
		for i, at := range r.unit.partitions[0].stages[0].timers.earliest {
			if at <= now {
				t.Fatalf("at %d key group %d is walked from %d on", now, i, at)
			}
		}
	}
}

// The surplus over the limit waits for the next epochs, in order, whichever
// restarts lie between.
func TestTimerLimit(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		h := timerTeller(func(s *Session, key string, t FiredTimer) error {
			if t.ID == 0 && t.Micros == 2 {
				return s.SetTimer(3, 1) // before all others, but later set
			}
			return nil
		})
		h.input = setTimers
		r := newRig(t, h)
		r.config.Partitions, r.config.TimerLimit = 1, 3
		if restart {
			r.config.MaxEpochs = 1
		}
		r.row("b", "1", "2", "3", "4").row("a", "1", "2", "3", "4")
		r.clock.set(10)
		for range 10 {
			r.mustRun()
			if restart {
				r.close()
			}
		}
		var got []string
		for _, epoch := range r.sink.out {
			got = append(got, strings.Join(epoch, " "))
		}
		equal(t, fmt.Sprintf("epochs, restart %v", restart), got, []string{
			"a:1:0 b:1:0 a:2:0", "a:1:3 b:2:0 a:3:0", "b:1:3 b:3:0 a:4:0", "b:4:0",
		})
	}
}

// B-20: an available-now run in which timers set timers for now comes to its end,
// with each of them fired once more at most, whatever the limit and the number of
// partitions; it says what it left.
func TestEndlessTimers(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		for _, limit := range []int64{1, 2, 5, 0} {
			t.Run(fmt.Sprintf("%d partitions, limit %d", partitions, limit), func(t *testing.T) {
				t.Parallel()
				h := timerTeller(func(s *Session, _ string, t FiredTimer) error { return s.RegisterTimer(s.NowMicros()) })
				h.input = setTimers
				r := newRig(t, h)
				r.config.Partitions, r.config.TimerLimit = partitions, limit
				for i := range 10 {
					r.row(fmt.Sprint("key", i), "10")
				}
				r.clock.set(10)
				fired := map[string]int{}
				for _, line := range r.mustRun() {
					fired[line]++
				}
				if n := len(r.sink.out); n > 30 {
					t.Errorf("%d epochs", n)
				}
				total := 0
				for _, n := range fired {
					total += n
				}
				// All that was due when the rows had been read, and once more.
				if total < 10 || total > 33 {
					t.Errorf("%d timers fired: %v", total, fired)
				}
				if next, err := r.unit.nextTimer(); err != nil || next != 10 {
					t.Errorf("the next timer is at %d, %v", next, err)
				}
			})
		}
	}
}

// C-136: an interval run fires each of them once in an epoch.
func TestEndlessTimersByInterval(t *testing.T) {
	t.Parallel()
	h := timerTeller(func(s *Session, _ string, t FiredTimer) error { return s.RegisterTimer(s.NowMicros()) })
	h.input = setTimers
	r := newRig(t, h)
	r.config.MaxEpochs = 4
	r.row("a", "0").row("b", "0")
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if err := r.unit.RunInterval(t.Context(), nil, 10_000); err != nil { // 10 µs
		t.Fatal(err)
	}
	for i, epoch := range r.sink.out {
		want := []string{fmt.Sprintf("a:%d:0", max(0, i-1)*10), fmt.Sprintf("b:%d:0", max(0, i-1)*10)}
		slices.Sort(epoch)
		equal(t, fmt.Sprint("epoch ", i+1), epoch, want)
	}
}
