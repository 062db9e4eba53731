//go:build interop

package table

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// The deltalake package from PyPI reads our tables as we do, whatever their
// types. The test needs python3 and, the first time, the network.
func TestDeltalakeReadsTheSameRows(t *testing.T) {
	for seed := range uint64(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := newGenerator(seed)
			columns := g.columns()
			s := testStore(t)
			s.limits = fileLimits{fileBytes: 1 << 14, groupRows: 1 << 10, groupBytes: 1 << 20}
			ts := openTable(t, s, "t", unit("c", "f"), columns)
			var prior stream.Staged
			for epoch := int64(1); epoch <= 2; epoch++ {
				rows := make([][]any, []int{0, 20, 2500}[g.IntN(3)])
				for i := range rows {
					rows[i] = g.row(columns)
				}
				staged := stage(t, ts, stream.Attempt{Epoch: epoch, Prior: prior.State}, rows...)
				publish(t, ts, epoch, staged)
				prior = staged
			}
			like := filepath.Join(t.TempDir(), "rows.jsonl")
			writeText(t, like, strings.Join(rowsOf(t, s.Path("t")), "\n"))
			out, err := exec.Command("sh", "interop/check.sh", s.Path("t"), "--like", like).CombinedOutput()
			if err != nil {
				if len(out) > 3000 {
					out = out[:3000]
				}
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// Other writers may add a column, compact files and write log checkpoints
// between two of our epochs.
func TestDeltalakeWritesBesideUs(t *testing.T) {
	s := testStore(t)
	columns := fields("id", schemas.Int64, "name", schemas.String, "at", schemas.Timestamp)
	ts := openTable(t, s, "t", unit("c", "f"), columns)
	var prior stream.Staged
	epoch := func(n int64) {
		at := time.UnixMicro(1_700_000_000_000_000 + n)
		staged := stage(t, ts, stream.Attempt{Epoch: n, Prior: prior.State}, []any{n, "a", at}, []any{n, nil, at})
		publish(t, ts, n, staged)
		prior = staged
	}
	epoch(1)
	python(t, s.Path("t"), `
from deltalake import Field
from deltalake.schema import PrimitiveType
table.alter.add_columns([Field("extra", PrimitiveType("string"))])`)
	epoch(2)
	python(t, s.Path("t"), `
assert table.optimize.compact()["numFilesRemoved"] == 2
table.create_checkpoint()
assert table.transaction_version("tws/c/f/0") == 2, table.transaction_version("tws/c/f/0")`)
	epoch(3)
	python(t, s.Path("t"), `
from deltalake import QueryBuilder
assert [h["operation"] for h in table.history()][0] == "STREAMING UPDATE", table.history()
found = QueryBuilder().register("t", table).execute("select count(*) as n from t where id = 3 and extra is null").read_all()
assert found["n"][0].as_py() == 2, found`)
	reopened := openTable(t, sameStore(t, s.dir), "t", unit("c", "f"), columns)
	publish(t, reopened, 3, prior)
	var got []string
	for _, row := range rowsOf(t, s.Path("t")) {
		got = append(got, row[:len(`{"id":1`)])
	}
	slices.Sort(got) // compaction moves rows
	want := []string{`{"id":1`, `{"id":1`, `{"id":2`, `{"id":2`, `{"id":3`, `{"id":3`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("rows differ (-want +got):\n%s", diff)
	}
}

// python runs statements with the table opened by deltalake.
func python(t *testing.T, dir, statements string) {
	t.Helper()
	if out, err := exec.Command("sh", "interop/check.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out) // it also makes the environment
	}
	program := "import os\nfrom deltalake import DeltaTable\ntable = DeltaTable(" + strconv.Quote(dir) + ")\n" + statements + "\nos._exit(0)\n"
	out, err := exec.Command("interop/.venv/bin/python", "-c", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
