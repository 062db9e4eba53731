// Package crash stops the heartbeat pipeline at every point of the commit order,
// and kills it at random moments, and demands that nothing is lost or doubled.
package crash

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/golden/crash/internal/pipeline"
	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/table"
)

// layout is a run's folder with what tests do there.
type layout struct{ pipeline.Layout }

func at(dir string) layout { return layout{pipeline.Layout{Dir: dir}} }

// withInput is a new folder with input files.
func withInput(t *testing.T, files int) layout {
	t.Helper()
	l := at(t.TempDir())
	if err := l.WriteInput(0, files); err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs the pipeline over everything that is there.
func run(l layout, stores store.Engine, atPoint func(epoch.Point) error, conf map[string]string) error {
	return pipeline.Run(l.Layout, pipeline.Options{Stores: stores, AtPoint: atPoint, Conf: conf, NoSync: true})
}

// outcome is what a run leaves: the rows of the table in their order, and every
// state entry of every partition.
type outcome struct {
	rows  []string
	state []map[string]string // by partition; keys begin with the family
	clock int64               // of the last epoch, in microseconds
}

// table reads the rows of the run's table.
func (l layout) table(t *testing.T) []string {
	t.Helper()
	var rows []string
	err := table.ReadRows(context.Background(), filepath.Join(l.Tables(), "sensorAlerts"), func(row []byte) error {
		rows = append(rows, string(row))
		return nil
	})
	if err != nil {
		t.Fatalf("read the table: %v", err)
	}
	return rows
}

// undisturbed returns the outcome of a run whose changelogs are all still there.
func (l layout) undisturbed(t *testing.T) outcome {
	t.Helper()
	o := outcome{rows: l.table(t)}
	c, err := checkpoint.Open(l.Checkpoint(), checkpoint.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.Flow(pipeline.Flow)
	if err != nil {
		t.Fatal(err)
	}
	last, _, err := f.LastDecision()
	if err != nil {
		t.Fatal(err)
	}
	o.clock = last.Plan.ClockMicros
	o.state = make([]map[string]string, len(last.Changelogs))
	for n := range o.state {
		o.state[n] = map[string]string{}
	}
	for e := int64(1); e <= last.Epoch; e++ {
		d, _, err := f.Decision(e)
		if err != nil {
			t.Fatal(err)
		}
		for n, log := range d.Changelogs {
			if log.Path != "" {
				fold(t, f, log.Path, o.state[n], d, n)
			}
		}
	}
	return o
}

// fold applies a changelog to a map.
func fold(t *testing.T, f *checkpoint.Flow, path string, state map[string]string, d checkpoint.Decision, n int) {
	t.Helper()
	batch, err := f.ReadChangelog(d.Changelogs[n])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	err = store.EachRecord(batch, func(fam store.Family, key, value []byte, del bool) {
		if fam == store.Point && bytes.Equal(key, store.AppliedKey()) {
			return // names the attempt, which may differ
		}
		name := string(rune('0'+fam)) + string(key)
		if del {
			delete(state, name)
		} else {
			state[name] = string(value)
		}
	})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// mustEqual compares what a disturbed run left with an undisturbed one.
func (l layout) mustEqual(t *testing.T, stores store.Engine, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want.rows, l.table(t)); diff != "" {
		t.Errorf("the table differs (-undisturbed +disturbed):\n%s", diff)
	}
	for n, state := range want.state {
		dir := filepath.Join(l.Checkpoint(), "flows", pipeline.Flow, "store", storeName(t, l, n))
		st, err := stores.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		equalStore(t, st, state, want.clock)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// storeName finds the folder of a partition's working store.
func storeName(t *testing.T, l layout, n int) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.Checkpoint(), "flows", pipeline.Flow, "store"))
	if err != nil {
		t.Fatal(err)
	}
	return entries[n].Name()
}

// expired reports whether an entry's time to live is over: a store may have dropped
// it, or not yet.
func expired(key, value string, clock int64) bool {
	if kind := key[2]; kind != store.KindValue && kind != store.KindListHead && kind != store.KindElement {
		return false
	}
	h, _, err := codec.ReadHeader([]byte(value))
	return err == nil && h.Expired(clock)
}

func equalStore(t *testing.T, st store.Store, want map[string]string, clock int64) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if expired(name, want[name], clock) {
			continue
		}
		got, ok, err := st.Get(store.Family(name[0]-'0'), []byte(name[1:]))
		if err != nil {
			t.Fatal(err)
		}
		if !ok || string(got) != want[name] {
			t.Errorf("state entry %x is %x (%t), want %x", name, got, ok, want[name])
		}
	}
	it, err := st.Scan([]byte{0}, []byte{0xff})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for it.Next() {
		name := "1" + string(it.Key())
		if _, ok := want[name]; !ok && !expired(name, string(it.Value()), clock) {
			t.Errorf("state entry %x should not be there", it.Key())
		}
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
}

// copyTo copies everything a run has on disk, as it is at this moment. RocksDB
// works in the background, so a copy counts only if nothing changed meanwhile.
func (l layout) copyTo(dir string) (layout, error) {
	for try := 0; ; try++ {
		to := at(filepath.Join(dir, strconv.Itoa(try)))
		before, err := l.listing()
		if err != nil {
			return to, err
		}
		err = os.CopyFS(to.Dir, os.DirFS(l.Dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return to, err
		}
		after, listErr := l.listing()
		if err == nil && listErr == nil && maps.Equal(before, after) {
			return to, l.copyTimes(to)
		}
		if try == 100 {
			return to, errors.New("the folder does not come to rest")
		}
	}
}

// listing is every file with its size.
func (l layout) listing() (map[string]int64, error) {
	files := map[string]int64{}
	err := filepath.WalkDir(l.Dir, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile; the listing after shows it
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			files[path] = info.Size()
		}
		return nil
	})
	return files, err
}

// copyTimes makes the copied input as old as the original.
func (l layout) copyTimes(to layout) error {
	entries, err := os.ReadDir(l.Input())
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		if err := os.Chtimes(filepath.Join(to.Input(), e.Name()), info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}

// replaceTables gives a run the tables of another.
func replaceTables(l, of layout) error {
	if err := os.RemoveAll(l.Tables()); err != nil {
		return err
	}
	return os.CopyFS(l.Tables(), os.DirFS(of.Tables()))
}
