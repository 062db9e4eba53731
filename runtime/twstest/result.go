package twstest

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// update is the one flag that re-records golden files.
var update = flag.Bool("update", false, "re-record golden files instead of comparing with them")

// Updating reports whether the test run re-records golden files.
func Updating() bool { return *update }

// Result is what a flow emitted.
type Result[T any] struct {
	t      testing.TB
	rows   []T
	nulls  []bool
	epochs []int64
	stats  []epoch.Stats
}

// Rows returns the emitted rows, in the order of epoch, key and emission.
func (r *Result[T]) Rows() []T { return r.rows }

// Nulls says of each row of Rows whether it was emitted by EmitNull.
func (r *Result[T]) Nulls() []bool { return r.nulls }

// Epochs returns the epoch of each row of Rows.
func (r *Result[T]) Epochs() []int64 { return r.epochs }

// Stats returns what each epoch did, in order: how many rows were late, how many
// timers fired.
func (r *Result[T]) Stats() []epoch.Stats { return r.stats }

// Want fails the test unless exactly the given rows were emitted, in order, and
// none of them by EmitNull.
func (r *Result[T]) Want(rows ...T) *Result[T] {
	r.t.Helper()
	if i := slices.Index(r.nulls, true); i >= 0 {
		r.t.Errorf("twstest: row %d is from EmitNull, which Want does not know: compare with Golden, or Rows and Nulls", i+1)
	}
	if len(rows) == 0 && len(r.rows) == 0 {
		return r
	}
	if diff := cmp.Diff(rows, r.rows); diff != "" {
		r.t.Errorf("twstest: emitted rows differ (-want +got):\n%s", diff)
	}
	return r
}

// Golden compares the emitted rows, as JSON lines, with a file, and shows the
// lines that differ. A row from EmitNull is the line {"null":ROW}. With -update it writes the file instead.
func (r *Result[T]) Golden(path string) *Result[T] {
	r.t.Helper()
	Golden(r.t, path, r.jsonLines())
	return r
}

func (r *Result[T]) jsonLines() []byte {
	r.t.Helper()
	codec := stream.RowOf[T]()
	if codec == nil {
		r.t.Fatalf("twstest: row type %T has no generated code: run go generate ./... in its module", *new(T))
	}
	var b []byte
	for i := range r.rows {
		if r.nulls[i] {
			b = append(b, `{"null":`...)
		}
		line, err := codec.AppendJSON(b, &r.rows[i])
		if err != nil {
			r.t.Fatalf("twstest: row %d: %v", i+1, err)
		}
		if r.nulls[i] {
			line = append(line, '}')
		}
		b = append(line, '\n')
	}
	return b
}

// Golden compares got with a golden file, line by line. With -update it writes
// the file instead.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err == nil && bytes.Equal(want, got) {
		return
	}
	if *update {
		if err := record(path, got); err != nil {
			t.Fatalf("twstest: %v", err)
		}
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("twstest: there is no golden file %s yet; record it with: go test -run '^%s$' -update\nit would hold:\n%s", path, t.Name(), got)
	}
	if err != nil {
		t.Fatalf("twstest: %v", err)
	}
	t.Errorf("twstest: %s differs; if what the flow emits now is right, record it with: go test -run '^%s$' -update\n%s",
		path, t.Name(), diff.Diff("want", want, "got", got))
}

func record(path string, got []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, got, 0o644)
}
