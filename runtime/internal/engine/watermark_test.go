package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/schemas"
)

const minute = int64(60_000_000)

// eventRig has one stage in event time, whose rows are instants to set timers for,
// and "-" for none; it emits them and what fires.
func eventRig(t testing.TB, partitions int, delay int64) *rig {
	h := timerTeller(nil)
	h.schema = testSchema("event")
	h.schema.TimeMode = schemas.TimeEvent
	h.input = func(s *Session, key string, rows []string, emit func(key, row string) error) error {
		for _, row := range rows {
			if err := emit(key, key+"="+row); err != nil {
				return err
			}
		}
		rows = slices.DeleteFunc(rows, func(row string) bool { return strings.HasPrefix(row, "-") })
		return setTimers(s, key, rows, emit)
	}
	r := newRig(t, h)
	r.timed, r.delay, r.sources[0].partitions = true, delay, partitions
	return r
}

// at appends a row of a partition that happens at an instant.
func (r *rig) at(partition int32, at int64, key, row string) *rig {
	r.sources[0].rows = append(r.sources[0].rows, keyed{key: key, row: row, partition: partition, at: at})
	return r
}

// watermark is that of the last epoch, or "unset".
func (r *rig) watermark() string {
	r.t.Helper()
	if err := r.open(); err != nil {
		r.t.Fatal(err)
	}
	if w := instantOf(r.unit.last.Plan.WatermarkMicros); w.set {
		return fmt.Sprint(w.micros)
	}
	return "unset"
}

// wantWatermark runs and compares the watermark of the last epoch that ran.
func (r *rig) wantWatermark(what, want string) {
	r.t.Helper()
	r.mustRun()
	if got := r.watermark(); got != want {
		r.t.Errorf("%s: the watermark is %s, want %s", what, got, want)
	}
}

// B-29: a partition without any row holds the watermark back until it is idle; a
// source without partitions leaves it unset for ever.
func TestWatermarkOfEmptyPartitions(t *testing.T) {
	t.Parallel()
	r := eventRig(t, 3, 0)
	r.at(0, 100, "a", "90").at(1, 95, "a", "-")
	equal(t, "at first", r.mustRun(), []string{"a=90", "a=-"})
	r.clock.set(minute - 1)
	r.at(0, 100, "b", "-").at(1, 95, "b", "-")
	equal(t, "before the minute is over", r.mustRun(), []string{"b=-", "b=-"})
	r.wantWatermark("before the minute is over", "unset")
	r.clock.set(minute)
	equal(t, "partition 2 is idle", r.mustRun(), []string{"a:90:0"})
	r.wantWatermark("partition 2 is idle", "95")

	none := eventRig(t, 0, 0)
	none.sources[0].rows = nil
	none.clock.set(10 * minute)
	equal(t, "no partitions", none.mustRun(), nil)
	none.wantWatermark("no partitions", "unset")
}

// B-29: which partition goes idle first makes no difference; one that wakes up with
// an old row does not bring the watermark back, and its row is late; then it counts
// again, while the other one that went idle does not.
func TestIdlePartitions(t *testing.T) {
	t.Parallel()
	for _, first := range []int32{0, 1} {
		r := eventRig(t, 2, 0)
		largest := []int64{500, 400}
		r.at(0, largest[0], "a", "500").at(1, largest[1], "a", "-")
		r.mustRun()
		// The other one has one more row half a minute later.
		r.clock.set(minute / 2)
		r.at(1-first, largest[1-first], "a", "-")
		r.mustRun()
		r.clock.set(2 * minute)
		equal(t, "both are idle", r.mustRun(), []string{"a:500:0"})
		r.wantWatermark("both are idle", "500")

		r.at(1, 300, "late", "-")
		equal(t, "an old row", r.mustRun(), nil)
		if last := r.epochs[len(r.epochs)-1]; last.Late != 1 || last.RowsIn != 1 {
			t.Errorf("%d of %d rows are late, want 1 of 1", last.Late, last.RowsIn)
		}
		r.wantWatermark("an old row", "500")
		r.at(1, 900, "b", "800")
		equal(t, "a new row; the other is idle", r.mustRun(), []string{"b=800", "b:800:0"})
		r.wantWatermark("a new row", "900")
	}
}

// B-30: a partition whose rows wait while an epoch takes its time, or which limits
// leave no room, is not idle.
func TestBusyIsNotIdle(t *testing.T) {
	t.Parallel()
	r := eventRig(t, 2, 0)
	r.at(0, 100, "a", "-").at(1, 10, "a", "-")
	r.mustRun()
	r.clock.set(5 * minute)
	r.at(0, 200, "b", "-").at(1, 20, "b", "-")
	r.wantWatermark("both have rows after a long time", "10")

	r.close()
	r.config.Limits.Rows, r.config.MaxEpochs = 1, 1
	r.at(0, 300, "c", "-").at(0, 310, "c", "-").at(0, 320, "c", "-").at(1, 30, "c", "-")
	for n := range int64(4) {
		r.clock.set((10 + 5*n) * minute)
		r.wantWatermark("rows of the other one wait", "20")
	}
}

// B-30: a partition whose rows are there and were not handed out yet, as after a
// long time without the flow, is not idle: none of them is late. It is once the
// reader knows that it has no more, as of when it knows that.
func TestUnseenIsNotIdle(t *testing.T) {
	t.Parallel()
	r := eventRig(t, 2, 0)
	l := &lag{handed: 2, polled: instant{micros: 0, set: true}}
	r.sources[0].lag = l
	r.at(0, 100, "a", "-").at(1, 10, "a", "-")
	r.mustRun()
	r.close()

	r.clock.set(5 * minute)
	l.handed, l.polled = 3, instant{}
	r.at(0, 200, "b", "-").at(0, 205, "b", "-").at(1, 20, "c", "-").at(0, 210, "b", "-")
	equal(t, "partition 0 comes first", r.mustRun(), []string{"b=-"})
	l.handed = 4
	equal(t, "partition 0 goes on", r.mustRun(), []string{"b=-"})
	l.handed, l.polled = 5, instant{micros: 4 * minute, set: true}
	equal(t, "partition 1 comes at last", r.mustRun(), []string{"c=-"})
	l.handed = 6
	r.clock.set(6*minute - 1)
	r.wantWatermark("the last look lies before the rows of partition 1", "20")
	l.polled.micros = 6 * minute
	r.clock.set(6*minute + 1)
	r.at(0, 220, "b", "-")
	l.handed = 7
	r.mustRun()
	r.at(0, 220, "b", "-")
	l.handed = 8
	r.wantWatermark("partition 1 had no rows for a minute", "220")
	for _, e := range r.epochs {
		if e.Late != 0 {
			t.Errorf("epoch %d: %d rows are late", e.Epoch, e.Late)
		}
	}
}

// S-59: what is idle stays so over a restart, as do watermark and maxima.
func TestIdleAfterRestart(t *testing.T) {
	t.Parallel()
	r := eventRig(t, 2, 0)
	r.at(0, 100, "a", "90").at(1, 50, "a", "-")
	r.mustRun()
	r.close()
	r.clock.set(30_000_000)
	r.at(0, 120, "a", "-")
	r.mustRun()
	r.wantWatermark("half a minute", "50")
	r.close()
	r.clock.set(minute)
	equal(t, "a minute after the rows of partition 1", r.mustRun(), []string{"a:90:0"})
	r.close()
	r.wantWatermark("partition 1 is idle", "120")
}

// S-60: a flow that reads once ends with the watermark at the end of time: all
// timers in event time fire, once, also if the run is cut short by a crash at any
// point, and what a callback sets for then fires once more in each run. B-20
func TestOnceEndsTime(t *testing.T) {
	t.Parallel()
	for _, point := range append(epoch.Points(), "") {
		for visit := 1; visit <= 4; visit++ {
			r := eventRig(t, 1, 5)
			endless := int64(math.MaxInt64 - 1)
			r.stages[0].timer = func(s *Session, key string, t FiredTimer, emit func(key, row string) error) error {
				if err := emit(key, fmt.Sprintf("%s:%d:%d", key, t.Micros, t.ID)); err != nil || t.Micros != endless {
					return err
				}
				return s.RegisterTimer(endless)
			}
			r.config.Limits.Rows = 2
			visits := 0
			r.config.AtPoint = func(p epoch.Point) error {
				if p != point {
					return nil
				}
				if visits++; visits == visit {
					return errors.New("crash")
				}
				return nil
			}
			r.at(0, 10, "a", "1").at(0, 20, "a", "1000").at(0, 30, "a", fmt.Sprint(endless)).at(0, 40, "b", "-1")
			once := func() error {
				if err := r.open(); err != nil {
					return err
				}
				return r.unit.RunOnce(context.Background(), nil)
			}
			if err := once(); err != nil {
				r.close()
				if err := once(); err != nil {
					t.Fatalf("%s: %v", point, err)
				}
			}
			fired := map[string]int{}
			for _, line := range slices.Concat(r.sink.out...) {
				fired[line]++
			}
			if fired["a:1:0"] != 1 || fired["a:1000:0"] != 1 {
				t.Errorf("%s, visit %d: fired %v", point, visit, fired)
			}
			if n := fired[fmt.Sprintf("a:%d:0", endless)]; n < 1 || n > 4 {
				t.Errorf("%s, visit %d: a timer that sets itself anew fired %d times", point, visit, n)
			}
			if got := r.watermark(); got != fmt.Sprint(int64(endOfTime)) {
				t.Errorf("%s, visit %d: the watermark is %s", point, visit, got)
			}
			r.close()
		}
	}
}

// S-58: in one flow a stage waits for the clock, the next for the watermark. What
// the first emits has no event time and is never late for the second.
func TestStagesOfTwoTimes(t *testing.T) {
	t.Parallel()
	first := timerTeller(nil)
	first.schema = testSchema("clock")
	first.input = func(s *Session, key string, rows []string, emit func(key, row string) error) error {
		for _, row := range rows {
			if err := emit(key, row); err != nil {
				return err
			}
		}
		return s.RegisterTimer(2 * minute)
	}
	first.timer = func(_ *Session, key string, _ FiredTimer, emit func(key, row string) error) error {
		return emit(key, "5")
	}
	second := eventRig(t, 1, 0).stages[0]
	r := newRig(t, first, second)
	r.timed = true
	r.at(0, 100, "a", "50").at(0, 1, "a", "150")
	equal(t, "the watermark makes timers of the second due", r.mustRun(), []string{"a=50", "a=150", "a:50:0"})
	r.clock.set(2 * minute)
	equal(t, "the clock makes those of the first due", r.mustRun(), []string{"a=5", "a:5:0"})
	r.at(0, 1, "a", "60") // older than the watermark, for a stage that does not mind
	equal(t, "a row from before", r.mustRun(), []string{"a=60", "a=5", "a:5:0", "a:60:0"})
	if at, ok, err := r.unit.NextTimer(); ok || err != nil {
		t.Errorf("the clock has to reach %s, %v", at, err)
	}
}

// S-61: a flow that was one that reads once, and goes on as another, is not at the
// end of time any more.
func TestWatermarkAfterOnce(t *testing.T) {
	t.Parallel()
	r := eventRig(t, 1, 0)
	r.at(0, 100, "a", "1000")
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if err := r.unit.RunOnce(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.close()
	r.at(0, 200, "b", "-")
	r.mustRun() // to where it had ended
	equal(t, "what came later", r.mustRun(), []string{"b=-"})
	r.wantWatermark("it begins again", "100")
}

// A row of a partition below 0 is refused.
func TestNegativePartition(t *testing.T) {
	t.Parallel()
	r := eventRig(t, 1, 0)
	r.at(-1, 100, "a", "-")
	if err := r.run(); err == nil || !strings.Contains(err.Error(), "source in: engine: a row is of partition -1") {
		t.Error(err)
	}
}

// watermarkModel is the watermark by its definition, epoch by epoch.
type watermarkModel struct {
	delay    int64
	lastRows []int64  // by partition: clock of the newest epoch with rows, or of the first
	largest  []*int64 // by partition
	polled   int64
	previous *int64
}

// next returns the watermark of an epoch.
func (m *watermarkModel) next(p checkpoint.SourceRange) *int64 {
	quiet := m.polled
	if p.From.Equal(p.To) {
		quiet = max(quiet, p.PolledMicros)
	}
	var waitFor, all []*int64
	for n, largest := range m.largest {
		if quiet < m.lastRows[n]+minute {
			waitFor = append(waitFor, largest)
		}
		if largest != nil {
			all = append(all, largest)
		}
	}
	unknown := p.Partitions > len(m.largest) || slices.Contains(waitFor, nil)
	var now *int64
	compare := func(a, b *int64) int { return int(*a - *b) }
	switch {
	case unknown || len(all) == 0:
	case len(waitFor) > 0:
		now = slices.MinFunc(waitFor, compare)
	default:
		now = slices.MaxFunc(all, compare)
	}
	if now != nil && (m.previous == nil || *now-m.delay > *m.previous) {
		w := *now - m.delay
		return &w
	}
	return m.previous
}

// epoch adds what an epoch read, after its watermark was compared.
func (m *watermarkModel) epoch(p checkpoint.Plan, rows []keyed) {
	for n := len(m.largest); n < p.Sources[0].Partitions; n++ {
		m.largest, m.lastRows = append(m.largest, nil), append(m.lastRows, p.ClockMicros)
	}
	for _, row := range rows {
		if m.largest[row.partition] == nil || row.at > *m.largest[row.partition] {
			m.largest[row.partition] = &row.at
		}
		m.lastRows[row.partition] = p.ClockMicros
	}
	m.polled = max(m.polled, p.Sources[0].PolledMicros)
	m.previous = p.WatermarkMicros
}

// B-29 B-30 B-31 C-149: whatever partitions have rows and when, however often the
// flow stops, crashes and is limited, every epoch has the watermark that its
// definition gives, drops the rows that are older than that of the epoch before, no
// others, and fires what it has reached.
func TestWatermarkModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 4))
			r := eventRig(t, 1+rnd.IntN(3), rnd.Int64N(30))
			r.config.Partitions = 1 // so that the order of output is that of keys
			r.config.RetainEpochs = 1 << 40
			crash := math.MaxInt
			r.config.AtPoint = func(epoch.Point) error {
				if crash--; crash < 0 {
					return errors.New("crash")
				}
				return nil
			}
			polls := map[int64]int{} // when the source ended where
			var now, event int64
			for step := range 60 {
				now += rnd.Int64N(minute)
				r.clock.set(now)
				for range rnd.IntN(6) {
					event += rnd.Int64N(20)
					part := int32(rnd.IntN(r.sources[0].partitions))
					r.at(part, event-rnd.Int64N(60), fmt.Sprintf("k%d", step), fmt.Sprint(event+rnd.Int64N(80)))
				}
				if rnd.IntN(20) == 0 {
					r.sources[0].partitions++
				}
				polls[now] = len(r.sources[0].rows)
				r.config.Limits.Rows = rnd.Int64N(6)
				r.config.MaxEpochs = rnd.Int64N(4)
				if crash = math.MaxInt; rnd.IntN(3) == 0 {
					crash = rnd.IntN(80)
				}
				if r.run() != nil || rnd.IntN(4) == 0 {
					r.close()
				}
			}
			crash = math.MaxInt
			r.close()
			r.config.MaxEpochs = 0
			r.mustRun()
			checkWatermarks(t, r, polls)
		})
	}
}

func checkWatermarks(t *testing.T, r *rig, polls map[int64]int) {
	t.Helper()
	m := watermarkModel{delay: r.delay}
	timers := timerModel{}
	advanced := 0
	for e := int64(1); e <= r.unit.Epoch(); e++ {
		d, _, err := r.unit.dir.Decision(e)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Plan
		from, to := count(p.Sources[0].From), count(p.Sources[0].To)
		if at := p.Sources[0].PolledMicros; at > 0 && polls[at] != to {
			t.Errorf("epoch %d: the source did not end at %d at %d", e, to, at)
		}
		got, want := instantOf(p.WatermarkMicros), instantOf(m.next(p.Sources[0]))
		if got != want {
			t.Fatalf("epoch %d: the watermark is %v, want %v", e, got, want)
		}
		rows := r.sources[0].rows[from:to]
		var out []string
		for _, row := range rows {
			if m.previous != nil && row.at < *m.previous {
				continue
			}
			out = append(out, row.key+"="+row.row)
			timers[row.key+":"+row.row+":0"] = true
		}
		if got.set {
			due := timers.due(got.micros)
			for _, timer := range due {
				delete(timers, timer)
			}
			out = append(out, due...)
		}
		if got.set && (m.previous == nil || got.micros > *m.previous) {
			advanced++
		}
		published := slices.Clone(r.sink.out[e-1])
		slices.Sort(published)
		slices.Sort(out)
		equal(t, fmt.Sprint("epoch ", e), published, out)
		m.epoch(p, rows)
	}
	if advanced < 5 {
		t.Errorf("the watermark advanced %d times: the input tests nothing", advanced)
	}
}
