package table

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
)

// Whatever rows of whatever schema are published come back as they were, in
// order, over several lanes, row groups and files.
func TestRandomRowsRoundTrip(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := newGenerator(seed)
			columns := g.columns()
			s := testStore(t)
			s.limits = fileLimits{fileBytes: 1 << (10 + g.IntN(8)), groupRows: 1 << (9 + g.IntN(4)), groupBytes: 1 << 20}
			ts := openTable(t, s, "t", unit("c", "f"), columns)
			var want []string
			var prior stream.Staged
			for epoch := int64(1); epoch <= 3; epoch++ {
				rows := make([][]any, g.IntN(1+[]int{10, 100, 3000}[g.IntN(3)]))
				for i := range rows {
					rows[i] = g.row(columns)
					want = append(want, rowText(columns, rows[i]))
				}
				staged := stage(t, ts, stream.Attempt{Epoch: epoch, Lanes: 1 + g.IntN(3), Prior: prior.State}, rows...)
				publish(t, ts, epoch, staged)
				prior = staged
			}
			if diff := cmp.Diff(want, rowsOf(t, s.Path("t"))); diff != "" {
				t.Fatalf("rows differ (-want +got):\n%s", diff)
			}
		})
	}
}
