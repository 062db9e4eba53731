package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

var update = flag.Bool("update", false, "re-record golden files")

// A new attempt removes what earlier attempts at its epoch and at later ones
// staged, and never what belongs to a decided epoch. B-85
func TestBeginRemovesDeadAttempts(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	first := stage(t, ts, stream.Attempt{Epoch: 1}, ids(1)...)
	files := func() string {
		var names []string
		for _, f := range dataFiles(t, s.Path("t")) {
			names = append(names, regexp.MustCompile(`^part-0+(\d+-\d+)-`).FindStringSubmatch(filepath.Base(f))[1])
		}
		return strings.Join(names, " ")
	}
	expect := func(want string) {
		t.Helper()
		if got := files(); got != want {
			t.Fatalf("files of attempts %q, want %q", got, want)
		}
	}
	expect("1-1")
	// Epoch 1 is decided and not yet published.
	stage(t, ts, stream.Attempt{Epoch: 2, Prior: first.State}, ids(2)...)
	expect("1-1 2-1")
	second := stage(t, ts, stream.Attempt{Epoch: 2, Number: 2, Prior: first.State}, ids(2)...)
	expect("1-1 2-2")
	publish(t, ts, 1, first)
	publish(t, ts, 2, second)
	third := stage(t, ts, stream.Attempt{Epoch: 3, Prior: second.State}, ids(3)...)
	stage(t, ts, stream.Attempt{Epoch: 4, Prior: third.State}, ids(4)...)
	expect("1-1 2-2 3-1 4-1")
	// Epoch 3 failed after all, so 4 is thrown away with it.
	third = stage(t, ts, stream.Attempt{Epoch: 3, Number: 2, Prior: second.State}, ids(3)...)
	expect("1-1 2-2 3-2")
	publish(t, ts, 3, third)
	if err := ts.Begin(context.Background(), stream.Attempt{Epoch: 3, Number: 3, Lanes: 1, Prior: second.State}); err != nil {
		t.Fatal(err)
	}
	expect("1-1 2-2 3-2") // published files are the table's
	if diff := cmp.Diff([]int64{1, 2, 3}, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
}

// A checkpoint that begins anew in a table with rows of its flow is warned about
// once. Nothing else is.
func TestWarnOfEarlier(t *testing.T) {
	t.Parallel()
	old := unit("old", "f")
	for _, test := range []struct {
		name  string
		unit  stream.Unit
		prior bool // the checkpoint has an epoch, decided as old
		empty bool // another writer has removed all rows
		warns bool
	}{
		{"a new checkpoint", unit("new", "f"), false, false, true},
		{"the same checkpoint", old, true, false, false},
		{"a copy from the start", old, false, false, false},
		{"a fork", unit("new", "f"), true, false, false},
		{"another flow", unit("new", "g"), false, false, false},
		{"a flow whose name ends alike", unit("new", "0"), false, false, false},
		{"an empty table", unit("new", "f"), false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			first := openTable(t, s, "t", old, idColumn())
			staged := stage(t, first, stream.Attempt{Epoch: 1}, ids(1)...)
			publish(t, first, 1, staged)
			if test.empty {
				text, err := encodeActions([]action{{Remove: &removeAction{Path: staged.Artefacts[0].Path}}})
				if err != nil {
					t.Fatal(err)
				}
				writeText(t, commitPath(s.Path("t"), 2), string(text))
			}
			var log bytes.Buffer
			again := NewStore(s.dir, Options{NoSync: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
			ts := openTable(t, again, "t", test.unit, idColumn())
			a := stream.Attempt{Epoch: 1}
			if test.prior {
				a = stream.Attempt{Epoch: 2, Prior: staged.State}
			}
			for a.Number = 1; a.Number < 3; a.Number++ {
				stage(t, ts, a, ids(2)...)
			}
			want := 0
			if test.warns {
				want = 1
			}
			if strings.Count(log.String(), "level=WARN") != want || strings.Count(log.String(), "flow=f checkpoint=old") != want {
				t.Fatalf("the log is %q, want %d warnings", log.String(), want)
			}
		})
	}
}

// Close keeps what was prepared: it may have been decided.
func TestCloseKeepsPreparedFiles(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	staged := stage(t, ts, stream.Attempt{Epoch: 1}, ids(1)...)
	for range 2 {
		if err := ts.Close(); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, openTable(t, s, "t", unit("c", "f"), idColumn()), 1, staged)
	if got := len(idsOf(t, s.Path("t"))); got != 1 {
		t.Fatalf("%d rows", got)
	}
	ctx := context.Background()
	_, prepareErr := ts.Prepare(ctx)
	for what, err := range map[string]error{
		"Begin":   ts.Begin(ctx, stream.Attempt{Epoch: 1, Lanes: 1}),
		"Prepare": prepareErr,
		"Publish": ts.Publish(ctx, publicationOf(1, staged)),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s of a closed sink: %v", what, err)
		}
	}
}

// A failed Prepare leaves no file. B-85
func TestFailedPrepare(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	s.limits = fileLimits{fileBytes: 1, groupRows: 1, groupBytes: 1}
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	rows := make([][]any, 5*chunkRows)
	for i := range rows {
		rows[i] = []any{int64(i)}
	}
	begin := func(number int) {
		t.Helper()
		if err := ts.Begin(context.Background(), stream.Attempt{Epoch: 1, Number: number, Lanes: 1}); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if err := writeRow(ts.Lane(0), row...); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin(1)
	if _, err := ts.Prepare(&endingContext{Context: context.Background(), calls: 3}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Prepare: %v", err)
	}
	if files := dataFiles(t, s.Path("t")); len(files) != 0 {
		t.Fatalf("a failed attempt left %v", files)
	}
	begin(2)
	staged, err := ts.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(staged.Artefacts) != 5 {
		t.Fatalf("%d files", len(staged.Artefacts))
	}
	publish(t, ts, 1, staged)
	got := idsOf(t, s.Path("t"))
	for i, id := range got {
		if id != int64(i) {
			t.Fatalf("row %d is %d", i, id)
		}
	}
	if len(got) != len(rows) {
		t.Fatalf("%d rows", len(got))
	}
	// The folder is gone.
	begin(3)
	if err := os.RemoveAll(s.Path("t")); err != nil {
		t.Fatal(err)
	}
	if _, err := ts.Prepare(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Prepare: %v", err)
	}
}

// endingContext ends after some looks at it.
type endingContext struct {
	context.Context
	calls int
}

func (c *endingContext) Err() error {
	if c.calls--; c.calls < 0 {
		return context.Canceled
	}
	return nil
}

func TestCallsOutOfOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ts := openTable(t, testStore(t), "t", unit("c", "f"), idColumn())
	if _, err := ts.Prepare(ctx); err == nil || !strings.Contains(err.Error(), "prepare without begin") {
		t.Errorf("Prepare: %v", err)
	}
	for _, a := range []stream.Attempt{{}, {Epoch: 1}, {Epoch: 0, Lanes: 1}} {
		if err := ts.Begin(ctx, a); err == nil {
			t.Errorf("Begin accepted %+v", a)
		}
	}
	for prior, want := range map[string]string{
		`{`:   "unexpected end",
		`{}`:  "is not a table's",
		`"a"`: "cannot unmarshal",
		`{"unit":"c/f/0","required":null,"next":7}`: "the state of the epoch before says that epoch 7 was published",
	} {
		err := ts.Begin(ctx, stream.Attempt{Epoch: 7, Lanes: 1, Prior: json.RawMessage(prior)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Begin after %s: %v, want %q", prior, err, want)
		}
	}
	stage(t, ts, stream.Attempt{Epoch: 1}, ids(1)...)
	if _, err := ts.Prepare(ctx); err == nil || !strings.Contains(err.Error(), "prepare without begin") {
		t.Errorf("second Prepare: %v", err)
	}
	if err := ts.Begin(ctx, stream.Attempt{Epoch: 2, Lanes: 2}); err != nil {
		t.Fatal(err)
	}
	ts.Lane(1).BeginRow()
	if _, err := ts.Prepare(ctx); err == nil || !strings.Contains(err.Error(), "row 1 of lane 1 is not ended") {
		t.Errorf("Prepare in a row: %v", err)
	}
}

// Lanes are written at the same time and follow each other in order. A later
// epoch with fewer lanes has nothing of the others.
func TestLanes(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	var want []int64
	var prior stream.Staged
	for epoch, lanes := range []int{4, 2, 6} {
		a := stream.Attempt{Epoch: int64(epoch + 1), Number: 1, Lanes: lanes, Prior: prior.State}
		if err := ts.Begin(context.Background(), a); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for lane := range lanes {
			for i := range 500 {
				want = append(want, int64(epoch*100000+lane*1000+i))
			}
			wg.Go(func() {
				for i := range 500 {
					if err := writeRow(ts.Lane(lane), int64(epoch*100000+lane*1000+i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		staged, err := ts.Prepare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		publish(t, ts, a.Epoch, staged)
		prior = staged
	}
	if diff := cmp.Diff(want, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
}

// Artefacts describe the files as they are on disk, with flushes on.
func TestArtefacts(t *testing.T) {
	t.Parallel()
	s := NewStore(filepath.Join(t.TempDir(), "new", "tables"), Options{})
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	staged := stage(t, ts, stream.Attempt{Epoch: 12, Number: 3}, ids(1, 2, 3)...)
	if len(staged.Artefacts) != 1 || staged.Rows != 3 {
		t.Fatalf("staged is %+v", staged)
	}
	a := staged.Artefacts[0]
	data := readText(t, filepath.Join(s.Path("t"), a.Path))
	want := stream.Artefact{Path: a.Path, Size: int64(len(data)), Sum: fmt.Sprintf("xxh3:%016x", xxh3.HashString(data))}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Fatal(diff)
	}
	if staged.Bytes != a.Size {
		t.Fatalf("%d bytes", staged.Bytes)
	}
	name := regexp.MustCompile(`^part-00000000000000000012-3-[0-9a-f-]{36}\.c000\.snappy\.parquet$`)
	if !name.MatchString(a.Path) {
		t.Fatalf("the file's name is %s", a.Path)
	}
	publish(t, ts, 12, staged)
	publish(t, ts, 12, staged)
	if diff := cmp.Diff([]int64{1, 2, 3}, idsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
}

// Equal rows make equal files.
func TestDeterministicFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		var sums []string
		for range 2 {
			g := newGenerator(seed)
			columns := g.columns()
			rows := make([][]any, 300)
			for i := range rows {
				rows[i] = g.row(columns)
			}
			staged := stage(t, openTable(t, testStore(t), "t", unit("c", "f"), columns), stream.Attempt{Epoch: 1}, rows...)
			state := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(string(staged.State), "UUID")
			sums = append(sums, staged.Artefacts[0].Sum+state)
		}
		if sums[0] != sums[1] {
			t.Fatalf("seed %d: %s", seed, cmp.Diff(sums[0], sums[1]))
		}
	}
}

// Strings beyond a dictionary's bound are whole.
func TestManyDifferentStrings(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	columns := fields("s", schemas.String, "l", listOf(schemas.Type{Kind: schemas.String, Optional: true}))
	ts := openTable(t, s, "t", unit("c", "f"), columns)
	rows := make([][]any, 30000)
	var want []string
	for i := range rows {
		v := fmt.Sprintf("%d %s", i, strings.Repeat("x", 60))
		rows[i] = []any{v, list{v, nil, "again"}}
		if i%7 == 0 {
			rows[i][0] = nil
		}
		want = append(want, rowText(columns, rows[i]))
	}
	publish(t, ts, 1, stage(t, ts, stream.Attempt{Epoch: 1}, rows...))
	for i, got := range rowsOf(t, s.Path("t")) {
		if got != want[i] {
			t.Fatalf("row %d is %s, want %s", i, got, want[i])
		}
	}
}

// The log, word for word: what every kind of column looks like in the schema,
// and what a commit of rows holds.
func TestGoldenLog(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	columns := fields("id", schemas.Int64, "at", schemas.Timestamp)
	for _, k := range scalarKinds() {
		columns = append(columns, fields("a_"+string(k), k)...)
	}
	columns = append(columns, fields(
		"tags", listOf(schemas.Type{Kind: schemas.String}),
		"maybe", listOf(schemas.Type{Kind: schemas.Int64, Optional: true}),
		"waits", listOf(listOf(schemas.Type{Kind: schemas.Duration})),
		"point", structOf("Point", fields("x", schemas.Float64, "pause", schemas.Duration)),
	)...)
	ts := openTable(t, s, "alerts", unit("7f3c", "silent"), columns)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	rows := [][]any{
		{
			int64(7), at, true, int64(-8), int64(-16), int64(-32), int64(-64), uint64(8), uint64(16), uint64(32), uint64(1 << 63),
			0.5, math.Pi, "déjà vu", []byte("bytes"), at, time.Minute,
			list{"a", "b"}, list{int64(1), nil}, list{list{time.Second}, list{}}, structure{1.5, time.Hour},
		},
		make([]any, len(columns)),
	}
	staged := stage(t, ts, stream.Attempt{Epoch: 1}, rows...)
	publish(t, ts, 1, staged)
	text := readText(t, commitPath(s.Path("alerts"), 0)) + "\n" + readText(t, commitPath(s.Path("alerts"), 1)) + "\n" + string(staged.State) + "\n"
	text = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(text, "UUID")
	text = regexp.MustCompile(`"size":\d+`).ReplaceAllString(text, `"size":SIZE`)
	golden := filepath.Join("testdata", "log.golden")
	if *update {
		writeText(t, golden, text)
	}
	if diff := cmp.Diff(readText(t, golden), text); diff != "" {
		t.Fatalf("the log changed (-want +got), re-record with -update:\n%s", diff)
	}
}
