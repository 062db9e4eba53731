//go:build cgo && grocksdb_no_link

package app

import (
	"fmt"
	"strings"
	"testing"
)

// A build with RocksDB uses it unless told otherwise.
func TestRocks(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.env.stores = builtStores()
	l.feed("a.jsonl", 0, 3)
	l.do(countToTable, exitDone, l.args()...)
	l.wantErr("store=rocks", "msg=done epochs=1 rows_in=3 malformed=0 rows_late=0 timers=3 rows_out=6")
	if strings.Contains(l.err.String(), "memory store") {
		t.Errorf("stderr:\n%s", l.err.String())
	}
	l.feed("b.jsonl", 3, 4)
	l.do(countToTable, exitDone, l.args("--store", "rocks")...)
	l.wantErr("msg=done epochs=1 rows_in=1 malformed=0 rows_late=0 timers=1 rows_out=2")
	l.do(nil, exitDone, "version")
	if want := "\nstores  rocks, mem\n"; !strings.HasSuffix(l.out.String(), want) {
		t.Errorf("version does not end with %q:\n%s", want, l.out.String())
	}
	l.do(countToTable, exitUsage, l.args("--store", "disk")...)
	l.wantErr(`--store: want rocks or mem, got "disk"`)
}

// Without a snapshot either store goes on.
func TestRocksOrMem(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.env.stores = builtStores()
	want := 0
	for n, store := range []string{"mem", "rocks", "mem", "rocks"} {
		l.feed(fmt.Sprintf("%d.jsonl", n), n, n+1)
		l.do(countToTable, exitDone, l.args("--quiet", "--store", store)...)
		if l.err.String() != "" {
			t.Errorf("with the %s store:\n%s", store, l.err.String())
		}
		want += 2 // the row and its timer
	}
	if got := len(l.rows("counts")); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
}

// A checkpoint's snapshots are of the store that took them: the other one is
// refused and leaves the checkpoint as it is.
func TestRocksThenMem(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.env.stores = builtStores()
	l.feed("a.jsonl", 0, 3)
	l.do(countToTable, exitDone, l.args("--conf", "tws.snapshot-epochs=1")...)
	l.feed("b.jsonl", 3, 4)
	l.do(countToTable, exitUnfit, l.args("--store", "mem")...)
	l.wantErr("snapshots were made by the rocks store", "run with --store rocks, in a binary that has it")
	l.do(countToTable, exitDone, l.args()...)
	l.wantErr("rows_in=1")
}
