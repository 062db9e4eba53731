package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

// reading is the row type of the tests.
type reading struct {
	ID  int64  `json:"id"`
	Pad string `json:"pad,omitempty"`
}

func decodeReading(b []byte, v *reading) error {
	*v = reading{}
	if len(b) == 0 || b[0] != '{' {
		return errors.New("not a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

var readingRow = &stream.Row[reading]{Type: "file.reading", DecodeJSON: decodeReading}

// folder is a folder of files with a clock, and a source over it that can be
// restarted.
type folder struct {
	t       testing.TB
	dir     string
	clock   time.Time
	source  JSON[reading]
	once    bool
	journal [][]byte
	at      stream.Position
	log     bytes.Buffer
	reader  stream.Reader[reading]
}

func newFolder(t testing.TB) *folder {
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "readings"), clock: time.Unix(1_700_000_000, 0)}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.source = JSON[reading]{Path: f.dir}
	return f
}

// append adds text to a file at the folder's time.
func (f *folder) append(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = w.WriteString(text)
		err = errors.Join(err, w.Close(), os.Chtimes(path, f.clock, f.clock))
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// rewrite replaces what is in a file.
func (f *folder) rewrite(name, text string) {
	f.t.Helper()
	if err := os.Truncate(filepath.Join(f.dir, name), 0); err != nil {
		f.t.Fatal(err)
	}
	f.append(name, text)
}

func (f *folder) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) pass(d time.Duration) { f.clock = f.clock.Add(d) }

// open opens the source with the journal so far.
func (f *folder) open() (stream.Reader[reading], error) {
	env := stream.SourceEnv[reading]{
		Row:     readingRow,
		Log:     slog.New(slog.NewTextHandler(&f.log, nil)),
		Now:     func() time.Time { return f.clock },
		Journal: f.journal,
	}
	if f.once {
		return f.source.Once().Open(context.Background(), env)
	}
	return f.source.Open(context.Background(), env)
}

// restart goes on with a new reader.
func (f *folder) restart() {
	f.t.Helper()
	r, err := f.open()
	if err != nil {
		f.t.Fatal(err)
	}
	f.reader = r
}

// tryDiscover discovers and makes the journal entry durable.
func (f *folder) tryDiscover(final bool) (stream.Position, error) {
	if f.reader == nil {
		f.restart()
	}
	end, journal, err := f.reader.Discover(context.Background(), f.at, final)
	if journal != nil {
		f.journal = append(f.journal, journal)
	}
	return end, err
}

func (f *folder) discover(final bool) stream.Position {
	f.t.Helper()
	end, err := f.tryDiscover(final)
	if err != nil {
		f.t.Fatal(err)
	}
	return end
}

func (f *folder) cut(from, end stream.Position, limits stream.Limits) stream.Position {
	f.t.Helper()
	to, err := f.reader.Cut(context.Background(), from, end, limits)
	if err != nil {
		f.t.Fatal(err)
	}
	return to
}

// row is a yielded row with where it came from.
type row struct {
	ID        int64
	Partition int32
	Offset    int64
}

func (f *folder) tryRead(from, to stream.Position) ([]row, stream.ReadStats, error) {
	var rows []row
	stats, err := f.reader.Read(context.Background(), from, to, func(r *stream.Record[reading]) error {
		rows = append(rows, row{r.Row.ID, r.Partition, r.Offset})
		return nil
	})
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		if a.Partition > b.Partition || a.Partition == b.Partition && a.Offset >= b.Offset {
			f.t.Errorf("rows out of order: %v before %v", a, b)
		}
	}
	return rows, stats, err
}

func (f *folder) read(from, to stream.Position) []row {
	f.t.Helper()
	rows, stats, err := f.tryRead(from, to)
	if err != nil {
		f.t.Fatal(err)
	}
	if stats.Rows != int64(len(rows)) {
		f.t.Errorf("stats count %d rows, want %d", stats.Rows, len(rows))
	}
	return rows
}

// drain reads everything that is there and returns the ids.
func (f *folder) drain() []int64 {
	f.t.Helper()
	end := f.discover(false)
	rows := f.read(f.at, end)
	f.at = end
	return ids(rows)
}

func ids(rows []row) []int64 {
	var out []int64
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

// want compares ids.
func (f *folder) want(what string, got []int64, want ...int64) {
	f.t.Helper()
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		f.t.Errorf("%s: got rows %v, want %v", what, got, want)
	}
}

// wantError checks that err has all the parts in its text.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// wantLog checks how often text is in the log.
func (f *folder) wantLog(text string, times int) {
	f.t.Helper()
	if n := strings.Count(f.log.String(), text); n != times {
		f.t.Errorf("%q is %d times in the log, want %d:\n%s", text, n, times, &f.log)
	}
}

// rowsText returns one line for each id.
func rowsText(ids ...int64) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "{\"id\":%d}\n", id)
	}
	return b.String()
}
