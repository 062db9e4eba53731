package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

func idColumn() []schemas.Field { return fields("id", schemas.Int64) }

// ids returns rows of one column, the given numbers.
func ids(numbers ...int64) [][]any {
	var rows [][]any
	for _, n := range numbers {
		rows = append(rows, []any{n})
	}
	return rows
}

// idsOf returns the numbers in the table, in its order.
func idsOf(t testing.TB, dir string) []int64 {
	t.Helper()
	var numbers []int64
	for _, row := range rowsOf(t, dir) {
		var r struct{ ID int64 }
		if err := json.Unmarshal([]byte(row), &r); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, r.ID)
	}
	return numbers
}

// newestVersion returns the version of a table.
func newestVersion(t testing.TB, dir string) int64 {
	t.Helper()
	info, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	return info.Version
}

// Epochs without rows leave no trace in the table, and the chain of required
// epochs passes over them.
func TestEmptyEpochs(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	var prior stream.Staged
	for epoch, rows := range [][][]any{nil, nil, ids(3), nil, ids(5), ids(6), nil} {
		epoch := int64(epoch + 1)
		staged := stage(t, ts, stream.Attempt{Epoch: epoch, Prior: prior.State}, rows...)
		if got := len(staged.Artefacts); got != len(rows) || staged.Rows != int64(len(rows)) {
			t.Fatalf("epoch %d: staged is %+v", epoch, staged)
		}
		// Publishing is repeated, as after a lost answer.
		publish(t, ts, epoch, staged)
		publish(t, ts, epoch, staged)
		prior = staged
	}
	if diff := cmp.Diff([]int64{3, 5, 6}, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
	if v := newestVersion(t, s.Path("t")); v != 3 {
		t.Fatalf("version %d for three epochs with rows", v)
	}
	if info, err := Describe(s.Path("t")); err != nil || info.Txns["tws/c/f/0"] != 6 {
		t.Fatalf("%v, txns are %v", err, info.Txns)
	}
}

// B-84: the process dies after the decision, before or after the log commit;
// another one publishes from the decision alone, and again, and each row is
// there once.
func TestPublishByAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		s := testStore(t)
		ts := openTable(t, s, "t", unit("c", "f"), idColumn())
		staged := stage(t, ts, stream.Attempt{Epoch: 1}, ids(1, 2)...)
		if !before {
			publish(t, ts, 1, staged)
		}
		if err := ts.Close(); err != nil {
			t.Fatal(err)
		}
		decision, err := json.Marshal(staged)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var read stream.Staged
			if err := json.Unmarshal(decision, &read); err != nil {
				t.Fatal(err)
			}
			other := openTable(t, sameStore(t, s.dir), "t", unit("c", "f"), idColumn())
			publish(t, other, 1, read)
		}
		if diff := cmp.Diff([]int64{1, 2}, idsOf(t, s.Path("t"))); diff != "" {
			t.Fatal(diff)
		}
	}
}

// B-84: the process dies before the decision; the retry stages anew, and what
// the dead attempt left is not part of the table. B-85
func TestCrashBeforeTheDecision(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	stage(t, ts, stream.Attempt{Epoch: 1}, ids(1, 2)...)
	again := openTable(t, sameStore(t, s.dir), "t", unit("c", "f"), idColumn())
	if got := idsOf(t, s.Path("t")); len(got) != 0 {
		t.Fatalf("rows of an undecided attempt are visible: %v", got)
	}
	staged := stage(t, again, stream.Attempt{Epoch: 1, Number: 2}, ids(1, 2)...)
	publish(t, again, 1, staged)
	if diff := cmp.Diff([]int64{1, 2}, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
	if got := len(dataFiles(t, s.Path("t"))); got != 2 {
		t.Fatalf("%d data files, want the published one and the orphan", got)
	}
}

// A copy of a checkpoint whose table has moved on is refused, wherever it is,
// and writes nothing.
func TestCopiedCheckpoint(t *testing.T) {
	t.Parallel()
	u := unit("uid", "flow")
	tests := []struct {
		name string
		// copied is the epoch after which the checkpoint is copied; the
		// original then publishes up to epoch 4, all with rows.
		copied     int64
		rows       [][]any // of the copy's next epoch
		want, have string
	}{
		{"from the start", 0, ids(9), "no epoch", "epoch 4"},
		{"behind", 2, ids(9), "epoch 2", "epoch 4"},
		{"behind, without rows", 2, nil, "epoch 2", "epoch 4"},
		{"at the same epoch", 3, ids(9), "epoch 3", "epoch 4 with another content (attempt 1, version 4 of the table)"},
		{"at the same epoch, without rows", 3, nil, "epoch 3", "epoch 4 with another content (attempt 1, version 4 of the table)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			original := openTable(t, s, "t", u, idColumn())
			var prior, at stream.Staged
			for epoch := int64(1); epoch <= 4; epoch++ {
				staged := stage(t, original, stream.Attempt{Epoch: epoch, Prior: prior.State}, ids(epoch)...)
				publish(t, original, epoch, staged)
				if epoch == test.copied {
					at = staged
				}
				prior = staged
			}
			copied := openTable(t, sameStore(t, s.dir), "t", u, idColumn())
			staged := stage(t, copied, stream.Attempt{Epoch: test.copied + 1, Prior: at.State}, test.rows...)
			p := publicationOf(test.copied+1, staged)
			p.Manifest = "xxh3:of the copy"
			err := copied.Publish(context.Background(), p)
			var moved *stream.SinkMovedError
			if !errors.As(err, &moved) {
				t.Fatalf("Publish: %v", err)
			}
			want := stream.SinkMovedError{Sink: "table t", Unit: u, Want: test.want, Have: test.have}
			if diff := cmp.Diff(want, *moved); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff([]int64{1, 2, 3, 4}, idsOf(t, s.Path("t"))); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// A table that was set back is refused as well.
func TestTableSetBack(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	first := stage(t, ts, stream.Attempt{Epoch: 1}, ids(1)...)
	publish(t, ts, 1, first)
	if err := os.RemoveAll(s.Path("t")); err != nil {
		t.Fatal(err)
	}
	again := openTable(t, sameStore(t, s.dir), "t", unit("c", "f"), idColumn())
	second := stage(t, again, stream.Attempt{Epoch: 2, Prior: first.State}, ids(2)...)
	err := again.Publish(context.Background(), publicationOf(2, second))
	var moved *stream.SinkMovedError
	if !errors.As(err, &moved) || moved.Have != "no epoch" || moved.Want != "epoch 1" {
		t.Fatalf("Publish: %v", err)
	}
	want := "this checkpoint continues from epoch 1, but folder " + s.Path("t") + " has nothing of c/f/0 yet: is it the right one?"
	if !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("Publish: %v, want %s", err, want)
	}
}

// A forked checkpoint brings its last decision along and then has a progress of
// its own, wherever its parent is.
func TestFork(t *testing.T) {
	t.Parallel()
	parent, child := unit("parent", "f"), unit("child", "f")
	tests := []struct {
		name string
		// last is the parent's last epoch; the fork is made of a copy that
		// decided epoch 2 by itself if own is set, else together with the parent.
		last int64
		own  bool
		want []int64
	}{
		{"of a stopped parent", 2, false, []int64{1, 2, 30}},
		{"of a parent that has gone on", 4, false, []int64{1, 2, 3, 4, 30}},
		{"before the parent published", 1, false, []int64{1, 2, 30}},
		{"of a copy with its own epoch", 2, true, []int64{1, 2, 20, 30}},
		{"of a copy with its own epoch, parent gone on", 4, true, []int64{1, 2, 3, 4, 20, 30}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			original := openTable(t, s, "t", parent, idColumn())
			var decided [5]stream.Staged
			for epoch := int64(1); epoch <= max(test.last, 2); epoch++ {
				decided[epoch] = stage(t, original, stream.Attempt{Epoch: epoch, Prior: decided[epoch-1].State}, ids(epoch)...)
				if epoch <= test.last {
					publish(t, original, epoch, decided[epoch])
				}
			}
			brought := publicationOf(2, decided[2])
			if test.own {
				copied := openTable(t, s, "t", parent, idColumn())
				brought = publicationOf(2, stage(t, copied, stream.Attempt{Epoch: 2, Prior: decided[1].State}, ids(20)...))
				brought.Manifest = "xxh3:of the copy"
				var moved *stream.SinkMovedError
				if err := copied.Publish(context.Background(), brought); !errors.As(err, &moved) {
					t.Fatalf("Publish before the fork: %v", err)
				}
			}
			for range 2 {
				forked := openTable(t, sameStore(t, s.dir), "t", child, idColumn())
				if err := forked.Publish(context.Background(), brought); err != nil {
					t.Fatal(err)
				}
			}
			if !test.own {
				publish(t, original, max(test.last, 2), decided[max(test.last, 2)])
			}
			forked := openTable(t, s, "t", child, idColumn())
			third := stage(t, forked, stream.Attempt{Epoch: 3, Prior: brought.Staged.State}, ids(30)...)
			publish(t, forked, 3, third)
			publish(t, forked, 3, third)
			got := idsOf(t, s.Path("t"))
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// An epoch without rows of the parent's needs nothing of a fork.
func TestForkAfterAnEmptyEpoch(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	parent := openTable(t, s, "t", unit("parent", "f"), idColumn())
	first := stage(t, parent, stream.Attempt{Epoch: 1}, ids(1)...)
	publish(t, parent, 1, first)
	second := stage(t, parent, stream.Attempt{Epoch: 2, Prior: first.State})
	third := stage(t, parent, stream.Attempt{Epoch: 3, Prior: second.State}, ids(3)...)
	publish(t, parent, 3, third)
	child := openTable(t, s, "t", unit("child", "f"), idColumn())
	publish(t, child, 2, second)
	publish(t, child, 3, stage(t, child, stream.Attempt{Epoch: 3, Prior: second.State}, ids(30)...))
	if diff := cmp.Diff([]int64{1, 3, 30}, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
}

// What another flow staged is refused.
func TestPublishOfAnotherFlow(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	staged := stage(t, openTable(t, s, "t", unit("c", "f"), idColumn()), stream.Attempt{Epoch: 1}, ids(1)...)
	other := openTable(t, s, "t", unit("c", "g"), idColumn())
	err := other.Publish(context.Background(), publicationOf(1, staged))
	if err == nil || !strings.Contains(err.Error(), "it was staged by c/f/0, and the table is open for c/g/0") {
		t.Fatalf("Publish: %v", err)
	}
}

// A staged file that is not there as it was staged stops the epoch, and nothing
// is written until it is back.
func TestMissingStagedFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(path string) error
		before int64 // epochs that are published before
		want   string
	}{
		"gone":            {os.Remove, 1, "table: the staged file PATH is missing (a VACUUM "},
		"truncated":       {func(p string) error { return os.Truncate(p, 10) }, 1, "table: the staged file PATH has 10 bytes and not "},
		"gone, new table": {os.Remove, 0, "table: folder DIR has nothing of c/f/0 yet, and no staged file NAME: is it the right folder (--tables)? If it is, "},
		"truncated, new":  {func(p string) error { return os.Truncate(p, 10) }, 0, "table: the staged file PATH has 10 bytes and not "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			ts := openTable(t, s, "t", unit("c", "f"), idColumn())
			var staged stream.Staged
			for epoch := range test.before {
				staged = stage(t, ts, stream.Attempt{Epoch: epoch + 1}, ids(epoch)...)
				publish(t, ts, epoch+1, staged)
			}
			next := test.before + 1
			staged = stage(t, ts, stream.Attempt{Epoch: next, Prior: staged.State}, ids(next)...)
			path := filepath.Join(s.Path("t"), staged.Artefacts[0].Path)
			want := strings.NewReplacer("PATH", path, "DIR", s.Path("t"), "NAME", staged.Artefacts[0].Path).Replace(test.want)
			whole := readText(t, path)
			if err := test.damage(path); err != nil {
				t.Fatal(err)
			}
			err := ts.Publish(context.Background(), publicationOf(next, staged))
			if !errors.Is(err, ErrUnpublished) || !strings.HasPrefix(err.Error(), want) ||
				!strings.Contains(err.Error(), "put the file back from a copy of the table's folder and start again, or write to another table") {
				t.Fatalf("Publish: %v", err)
			}
			if v := newestVersion(t, s.Path("t")); v != test.before {
				t.Fatalf("version %d", v)
			}
			writeText(t, path, whole)
			publish(t, ts, next, staged)
			if got := len(idsOf(t, s.Path("t"))); got != int(next) {
				t.Fatalf("%d rows", got)
			}
		})
	}
}

func TestRefusedPublications(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	staged := stage(t, ts, stream.Attempt{Epoch: 1}, ids(1)...)
	edit := func(old, new string) json.RawMessage {
		if !strings.Contains(string(staged.State), old) {
			t.Fatalf("%s lacks %s", staged.State, old)
		}
		return json.RawMessage(strings.Replace(string(staged.State), old, new, 1))
	}
	tests := []struct {
		name     string
		epoch    int64
		manifest string
		state    json.RawMessage
		want     string
	}{
		{"no state", 1, "m", nil, "unexpected end"},
		{"not JSON", 1, "m", json.RawMessage("{"), "unexpected end"},
		{"another sink's", 1, "m", json.RawMessage(`{"offset":1}`), `is not a table's: "unit" is missing`},
		{"no required", 1, "m", edit(`"required"`, `"requires"`), `is not a table's: "required" is missing`},
		{"another epoch", 2, "m", staged.State, "its files were staged for epoch 1"},
		{"no next", 1, "m", edit(`"next":1`, `"next":null`), "its files were staged for no epoch"},
		{"no manifest", 1, "", staged.State, "the publication has no manifest"},
		{"bad path", 1, "m", edit(`"path":"part`, `"path":"../part`), "cannot be the path of a staged file"},
		{"wrong type", 1, "m", edit(`"next":1`, `"next":"1"`), "cannot unmarshal"},
	}
	for _, test := range tests {
		err := ts.Publish(context.Background(), stream.Publication{
			Epoch: test.epoch, Attempt: 1, Manifest: test.manifest, Staged: stream.Staged{State: test.state},
		})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "table: t: publish epoch ") {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ts.Publish(ctx, publicationOf(1, staged)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if v := newestVersion(t, s.Path("t")); v != 0 {
		t.Fatalf("version %d", v)
	}
	publish(t, ts, 1, staged)
}

// writers runs units that publish epochs with rows, concurrently, some epochs
// twice, and returns the rows the table must have.
func writers(t *testing.T, stores []*Store, units, epochs int) []int64 {
	t.Helper()
	var wg sync.WaitGroup
	var want []int64
	for w := range units {
		for e := range epochs {
			if (w+e)%5 != 0 {
				want = append(want, int64(w*1000+e))
			}
		}
		wg.Go(func() {
			s := stores[w%len(stores)]
			ts, err := s.Open(context.Background(), stream.TableSpec{Name: "t", Columns: idColumn()}, unit("c", fmt.Sprint("f", w)))
			if err != nil {
				t.Error(err)
				return
			}
			var prior stream.Staged
			for e := range epochs {
				var rows [][]any
				if (w+e)%5 != 0 {
					rows = ids(int64(w*1000 + e))
				}
				staged, err := runEpoch(ts, stream.Attempt{Epoch: int64(e + 1), Number: 1, Lanes: 1, Prior: prior.State}, rows)
				if err != nil {
					t.Error(err)
					return
				}
				prior = staged
			}
		})
	}
	wg.Wait()
	return want
}

// runEpoch stages and publishes an epoch, every third one twice.
func runEpoch(ts stream.TableSink, a stream.Attempt, rows [][]any) (stream.Staged, error) {
	ctx := context.Background()
	if err := ts.Begin(ctx, a); err != nil {
		return stream.Staged{}, err
	}
	for _, row := range rows {
		if err := writeRow(ts.Lane(0), row...); err != nil {
			return stream.Staged{}, err
		}
	}
	staged, err := ts.Prepare(ctx)
	if err != nil {
		return stream.Staged{}, err
	}
	for range 1 + (a.Epoch+2)%3/2 {
		if err := ts.Publish(ctx, publicationOf(a.Epoch, staged)); err != nil {
			return stream.Staged{}, err
		}
	}
	return staged, nil
}

// Eight units publish at once, in one store and in two that share only the
// folder: no row is lost or doubled.
func TestConcurrentUnits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d stores", n), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var stores []*Store
			for range n {
				stores = append(stores, sameStore(t, dir))
			}
			want := writers(t, stores, 8, 50)
			got := idsOf(t, filepath.Join(dir, "t"))
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("rows differ (-want +got):\n%s", diff)
			}
			info, err := Describe(filepath.Join(dir, "t"))
			if err != nil {
				t.Fatal(err)
			}
			for w := range 8 {
				last := int64(50)
				if (w+49)%5 == 0 {
					last = 49
				}
				if got := info.Txns[fmt.Sprintf("tws/c/f%d/0", w)]; got != last {
					t.Errorf("unit %d is at epoch %d, want %d", w, got, last)
				}
			}
		})
	}
}

// Publications that wait at the same time share one version of the log; those
// of one unit do not, and one that is refused does not hold up the others.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	var pubs []*publication
	tb := s.table("t")
	add := func(flow string, epoch int64) *publication {
		ts := openTable(t, s, "t", unit("c", flow), idColumn()).(*sink)
		state, err := parseState(stage(t, ts, stream.Attempt{Epoch: epoch}, ids(epoch)...).State)
		if err != nil {
			t.Fatal(err)
		}
		p := &publication{
			unit: ts.unit, appID: appID(ts.unit), row: ts.row, epoch: epoch, staged: state, done: make(chan struct{}),
			by: published{AppID: appID(ts.unit), Epoch: epoch, Attempt: 1, Manifest: "m"},
		}
		pubs = append(pubs, p)
		return p
	}
	for i := range 4 {
		add(fmt.Sprint("f", i), int64(i+1))
	}
	twin := *pubs[0]
	twin.done = make(chan struct{})
	refused := add("refused", 1)
	if err := os.Remove(filepath.Join(s.Path("t"), refused.staged.Files[0].Path)); err != nil {
		t.Fatal(err)
	}
	tb.enqueue(append(pubs, &twin)...)
	tb.lead <- struct{}{}
	tb.commitQueued(context.Background()) // the four
	tb.commitQueued(context.Background()) // the twin, which is there already
	<-tb.lead
	for i, p := range append(pubs, &twin) {
		<-p.done
		if (p == refused) != (p.err != nil) {
			t.Errorf("publication %d: %v", i, p.err)
		}
	}
	if v := newestVersion(t, s.Path("t")); v != 1 {
		t.Fatalf("version %d", v)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
}

// A leader whose context ends leaves what it had taken to the next one.
func TestLeaderGivesUp(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn()).(*sink)
	state, err := parseState(stage(t, ts, stream.Attempt{Epoch: 1}, ids(1)...).State)
	if err != nil {
		t.Fatal(err)
	}
	p := &publication{unit: ts.unit, appID: appID(ts.unit), row: ts.row, epoch: 1, staged: state, done: make(chan struct{}), by: published{Manifest: "m"}}
	tb := s.table("t")
	tb.enqueue(p)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tb.lead <- struct{}{}
	tb.state = nil
	if err := os.Rename(s.Path("t"), s.Path("away")); err != nil {
		t.Fatal(err)
	}
	tb.commitQueued(ctx)
	select {
	case <-p.done:
		t.Fatalf("the publication was settled by a leader that gave up: %v", p.err)
	default:
	}
	if err := os.Rename(s.Path("away"), s.Path("t")); err != nil {
		t.Fatal(err)
	}
	tb.commitQueued(context.Background())
	<-tb.lead
	if <-p.done; p.err != nil {
		t.Fatal(p.err)
	}
}

// Losing the race for a version again and again only takes time.
func TestPause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	for try := range 4 {
		if err := pause(ctx, try); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for _, try := range []int{0, 3, 1000000} {
		if err := pause(ctx, try); !errors.Is(err, context.Canceled) {
			t.Fatalf("try %d: %v", try, err)
		}
	}
}
