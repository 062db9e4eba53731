package kafka_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/golden/kafka/internal/pipeline"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// losses are the ways in which the journal can lose its records.
var losses = map[string]func(t *testing.T, s *scene){
	"deleted": func(t *testing.T, s *scene) {
		if _, err := s.admin.DeleteTopic(t.Context(), s.topics.Journal); err != nil {
			t.Fatal(err)
		}
		until(t, "the journal is gone", func() error {
			ends, err := s.admin.ListEndOffsets(t.Context(), s.topics.Journal)
			if err == nil {
				err = ends.Error()
			}
			if errors.Is(err, kerr.UnknownTopicOrPartition) {
				return nil
			}
			return fmt.Errorf("%d partitions: %v", len(ends[s.topics.Journal]), err)
		})
	},
	"truncated": func(t *testing.T, s *scene) {
		s.policy(t, "delete") // or the brokers refuse
		ends, err := s.admin.ListEndOffsets(t.Context(), s.topics.Journal)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the journal's records are deleted", func() error {
			deleted, err := s.admin.DeleteRecords(t.Context(), ends.Offsets())
			if err == nil {
				err = deleted.Error()
			}
			return err
		})
		s.policy(t, "compact")
	},
}

// policy sets the journal's cleanup policy, and waits until the broker knows.
func (s *scene) policy(t *testing.T, policy string) {
	t.Helper()
	_, err := s.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &policy}}, s.topics.Journal)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the policy is "+policy, func() error {
		configs, err := s.admin.DescribeTopicConfigs(t.Context(), s.topics.Journal)
		if err != nil {
			return err
		}
		for _, c := range configs[0].Configs {
			if c.Key == "cleanup.policy" && c.MaybeValue() == policy {
				return nil
			}
		}
		return errors.New("not yet")
	})
}

// lost is a pipeline that stopped in its second epoch, or after it, and whose
// journal has lost its records.
type lost struct {
	*scene
	folder string
	record *kgo.Record // the newest one, as it was
	// done are the rows that are committed; doubtful those of the epoch in doubt,
	// of which written says whether they are committed.
	done, doubtful map[string][]pipeline.Count
	written        bool
}

// doubts are where the pipeline stopped: after a whole epoch, or with an epoch in
// doubt that is committed or not.
var doubts = map[string]epoch.Point{"no doubt": epoch.AfterApply, "not committed": epoch.BeforeCommit, "committed": epoch.AfterCommit}

// lose makes such a pipeline.
func (c *cluster) lose(t *testing.T, point epoch.Point, lose func(*testing.T, *scene)) *lost {
	t.Helper()
	l := &lost{scene: c.scene(t, 2*time.Second), written: point == epoch.AfterCommit}
	var first map[string][]pipeline.Count
	folder := t.TempDir()
	_, err := l.run(t, folder, tws.Options{AtPoint: func(p epoch.Point) (err error) {
		switch {
		case first == nil && p == epoch.AfterApply:
			first = l.counts(t)
			return nil
		case first == nil || p != point:
			return nil
		}
		if l.folder, err = copyOf(t, folder); err != nil {
			return err
		}
		return errCrash
	}})
	if !errors.Is(err, errCrash) {
		t.Fatalf("the run did not stop at %s: %v", point, err)
	}
	all := decode[pipeline.Count](t, l.read(t, l.topics.Counts, kgo.ReadUncommitted()))
	l.done, l.doubtful = all, map[string][]pipeline.Count{}
	if point != epoch.AfterApply {
		l.doubtful = minus(all, first)
		l.done = first
	}
	if point != epoch.AfterApply && len(l.doubtful) == 0 {
		t.Fatal("the epoch in doubt has no rows: the test tests nothing")
	}
	l.record = l.newest(t)
	lose(t, l.scene)
	return l
}

// newest is the journal's newest committed record.
func (l *lost) newest(t *testing.T) *kgo.Record {
	t.Helper()
	if l.written {
		until(t, "the transaction has ended", func() error { return l.undecided(t, l.topics.Journal) })
	}
	records := l.read(t, l.topics.Journal, kgo.ReadCommitted())[0]
	if len(records) == 0 {
		t.Fatal("the journal has no record")
	}
	return records[len(records)-1]
}

// minus returns the rows of a that follow those of b.
func minus(a, b map[string][]pipeline.Count) map[string][]pipeline.Count {
	rest := map[string][]pipeline.Count{}
	for sensor, rows := range a {
		if after := rows[len(b[sensor]):]; len(after) > 0 {
			rest[sensor] = after
		}
	}
	return rest
}

// mustBeRefused starts the pipeline, which must name the choices and write nothing.
func (l *lost) mustBeRefused(t *testing.T) {
	t.Helper()
	i, err := l.run(t, l.folder, tws.Options{})
	missing, ok := errors.AsType[*stream.RecordMissingError](err)
	if !ok {
		t.Fatalf("the start without a journal gave %v, want a RecordMissingError", err)
	}
	inDoubt := int64(0)
	if len(l.doubtful) > 0 {
		inDoubt = missing.Last + 1
	}
	if missing.Last < 1 || missing.Doubt != inDoubt {
		t.Errorf("epochs %d and %d in doubt are missing", missing.Last, missing.Doubt)
	}
	mustSay(t, err.Error(), l.topics.Journal, l.topics.Counts, "put the topic back", "--in-doubt=rerun", "--in-doubt=committed", "fresh checkpoint")
	if i.runner != nil {
		t.Error("the pipeline is open all the same")
	}
}

// choices are what a user can do about it; each returns what consumers must see
// then, beyond every row once.
var choices = map[string]func(t *testing.T, l *lost) (twice, never map[string][]pipeline.Count){
	"put back": func(t *testing.T, l *lost) (twice, never map[string][]pipeline.Count) {
		l.putBack(t)
		l.finish(t, l.folder, tws.Options{})
		return nil, nil
	},
	"rerun": func(t *testing.T, l *lost) (twice, never map[string][]pipeline.Count) {
		l.finish(t, l.folder, tws.Options{InDoubt: "rerun"})
		return l.doubtfulIf(l.written), nil
	},
	"committed": func(t *testing.T, l *lost) (twice, never map[string][]pipeline.Count) {
		l.finish(t, l.folder, tws.Options{InDoubt: "committed"})
		return nil, l.doubtfulIf(!l.written)
	},
	"fresh": func(t *testing.T, l *lost) (twice, never map[string][]pipeline.Count) {
		l.folder = t.TempDir()
		l.finish(t, l.folder, tws.Options{})
		return plus(l.done, l.doubtfulIf(l.written)), nil
	},
	"fork": func(t *testing.T, l *lost) (twice, never map[string][]pipeline.Count) {
		l.finish(t, l.folder, tws.Options{Fork: true})
		return l.doubtfulIf(l.written), nil
	},
}

func (l *lost) doubtfulIf(holds bool) map[string][]pipeline.Count {
	if !holds {
		return nil
	}
	return l.doubtful
}

// putBack restores the journal's record from what somebody kept of it.
func (l *lost) putBack(t *testing.T) {
	t.Helper()
	until(t, "the journal is there", func() error {
		_, err := l.admin.CreateTopic(t.Context(), 1, 1, compact(), l.topics.Journal)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		return err
	})
	record := &kgo.Record{Topic: l.topics.Journal, Key: l.record.Key, Value: l.record.Value}
	until(t, "the record is back", func() error { return l.client.ProduceSync(t.Context(), record).FirstErr() })
}

func plus(a, b map[string][]pipeline.Count) map[string][]pipeline.Count {
	sum := maps.Clone(a)
	for sensor, rows := range b {
		sum[sensor] = slices.Concat(sum[sensor], rows)
	}
	return sum
}

// wantRows checks what consumers see: every row once, some twice, some never.
func (l *lost) wantRows(t *testing.T, twice, never map[string][]pipeline.Count) {
	t.Helper()
	want := map[pipeline.Count]int{}
	for rows, times := range map[*map[string][]pipeline.Count]int{new(countsBySensor(l.readings)): 1, &twice: 1, &never: -1} {
		for _, c := range slices.Concat(slices.Collect(maps.Values(*rows))...) {
			want[c] += times
		}
	}
	maps.DeleteFunc(want, func(_ pipeline.Count, n int) bool { return n == 0 })
	got := map[pipeline.Count]int{}
	for _, rows := range l.counts(t) {
		for _, c := range rows {
			got[c]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the number of times that a consumer of committed records sees each row (-want +got):\n%s", diff)
	}
}

// journalGone loses the journal in each way, with an epoch in doubt and without, and
// makes each choice.
func (c *cluster) journalGone(t *testing.T) {
	for how, lose := range losses {
		for doubt, point := range doubts {
			for choice, choose := range choices {
				t.Run(how+"/"+doubt+"/"+choice, func(t *testing.T) {
					t.Parallel()
					l := c.lose(t, point, lose)
					l.mustBeRefused(t)
					twice, never := choose(t, l)
					l.wantRows(t, twice, never)
					l.finish(t, l.folder, tws.Options{}) // the choice was for one start only
					l.wantRows(t, twice, never)
				})
			}
		}
	}
}

// A flow whose journal was deleted or emptied is refused, with the choices that
// there are, and each choice does what it says.
func TestJournalGone(t *testing.T) {
	t.Parallel()
	fake(t).journalGone(t)
}

// choicePoints are the points at which a start can end that was told how to go on.
func choicePoints(choice, doubt string) []epoch.Point {
	points := []epoch.Point{epoch.AfterChoice, epoch.BeforeDropChoice, epoch.AfterDropChoice}
	if choice == "committed" && doubt != "no doubt" {
		points = append(points, epoch.BeforeDecide, epoch.AfterDecide)
	}
	return points
}

// choiceCut ends the start that was told how to go on at each point after the choice
// was made. The next one is told nothing, and goes on as was chosen.
func (c *cluster) choiceCut(t *testing.T) {
	for doubt, at := range doubts {
		for _, choice := range []string{"rerun", "committed"} {
			for _, point := range choicePoints(choice, doubt) {
				t.Run(doubt+"/"+choice+"/"+string(point), func(t *testing.T) {
					t.Parallel()
					l, left := c.lose(t, at, losses["deleted"]), ""
					_, err := l.run(t, l.folder, tws.Options{InDoubt: choice, AtPoint: visits(point, 1, func() (err error) {
						if left, err = copyOf(t, l.folder); err != nil {
							return err
						}
						return errCrash
					})})
					if !errors.Is(err, errCrash) {
						t.Fatalf("the run did not stop at %s: %v", point, err)
					}
					l.finish(t, left, tws.Options{})
					if choice == "rerun" {
						l.wantRows(t, l.doubtfulIf(l.written), nil)
					} else {
						l.wantRows(t, nil, l.doubtfulIf(!l.written))
					}
				})
			}
		}
	}
}

// A choice is made once, however often the pipeline crashes while it takes effect.
func TestChoiceCut(t *testing.T) {
	t.Parallel()
	fake(t).choiceCut(t)
}
