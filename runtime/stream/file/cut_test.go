package file

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

func TestCut(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		limits   stream.Limits
		maxFiles int
		want     []int64 // first row of each epoch
	}{
		{"no limits", stream.Limits{}, 0, []int64{0}},
		{"loose limits", stream.Limits{Rows: 1000, Bytes: 1 << 30}, 100, []int64{0}},
		{"rows", stream.Limits{Rows: 5}, 0, []int64{0, 5, 10}},
		{"rows, exactly a file", stream.Limits{Rows: 4}, 0, []int64{0, 4, 8}},
		{"one row", stream.Limits{Rows: 1}, 0, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"bytes of two rows", stream.Limits{Bytes: 20}, 0, []int64{0, 2, 4, 6, 8, 10}},
		{"fewer bytes than a row", stream.Limits{Bytes: 3}, 0, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"bytes of a file and a half", stream.Limits{Bytes: 60}, 0, []int64{0, 6}},
		{"files", stream.Limits{}, 1, []int64{0, 4, 8}},
		{"two files", stream.Limits{}, 2, []int64{0, 8}},
		{"files and rows", stream.Limits{Rows: 3}, 1, []int64{0, 3, 4, 7, 8, 11}},
		{"rows and bytes", stream.Limits{Rows: 3, Bytes: 19}, 0, []int64{0, 2, 4, 6, 8, 10, 11}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.source.MaxFiles = c.maxFiles
			f.append("a", rowsText(0, 1, 2, 3))
			f.append("b", rowsText(4, 5, 6, 7))
			f.append("c", rowsText(8, 9, 10, 11))
			end := f.discover(false)
			var firsts []int64
			var all []int64
			for at := f.at; !at.Equal(end); {
				to := f.cut(at, end, c.limits)
				rows := ids(f.read(at, to))
				if len(rows) == 0 {
					t.Fatalf("no rows between %s and %s", at, to)
				}
				firsts = append(firsts, rows[0])
				all = append(all, rows...)
				at = to
			}
			f.want("all", all, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			f.want("first rows", firsts, c.want...)
		})
	}
}

func TestCutKeepsToFilesThatGrow(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1))
	f.append("b", rowsText(2))
	f.want("first", f.drain(), 1, 2)
	f.append("a", rowsText(3, 4))
	f.append("b", rowsText(5))
	f.append("c", rowsText(6))
	end := f.discover(false)
	one := f.cut(f.at, end, stream.Limits{Rows: 1})
	if got, want := string(one), `{"next":2,"open":{"0":18,"1":9}}`; got != want {
		t.Errorf("first cut %s, want %s", got, want)
	}
	two := f.cut(one, end, stream.Limits{Rows: 2})
	f.want("first", ids(f.read(f.at, one)), 3)
	f.want("second", ids(f.read(one, two)), 4, 5)
	f.want("third", ids(f.read(two, end)), 6)
}

// A limit that cannot be reached costs no look into the files.
func TestCutDoesNotLookWithoutNeed(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1, 2, 3))
	end := f.discover(false)
	f.remove("a")
	if to := f.cut(nil, end, stream.Limits{Rows: 9, Bytes: 27}); !to.Equal(end) {
		t.Errorf("cut %s, want %s", to, end)
	}
	_, err := f.reader.Cut(context.Background(), nil, end, stream.Limits{Rows: 2})
	wantError(t, err, "readings/a is gone")
}

func TestCutAtEnd(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1))
	end := f.discover(false)
	if to := f.cut(end, end, stream.Limits{Rows: 1}); !to.Equal(end) {
		t.Errorf("cut %s, want %s", to, end)
	}
	rows, stats, err := f.tryRead(end, end)
	if len(rows) > 0 || stats != (stream.ReadStats{}) || err != nil {
		t.Errorf("got %v, %+v, %v, want nothing", rows, stats, err)
	}
}

// BenchmarkRead measures reading beside a decoder that does almost nothing.
func BenchmarkRead(b *testing.B) {
	f := newFolder(b)
	const count = 200_000
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "{\"sensor_id\":%d,\"sensor_type\":\"thermometer\",\"sensor_value\":%d}\n", i, 7*i)
	}
	f.append("a", text.String())
	r, err := JSON[reading]{Path: f.dir}.Open(b.Context(), stream.SourceEnv[reading]{
		Row: &stream.Row[reading]{DecodeJSON: func(src []byte, v *reading) error { v.ID = int64(len(src)); return nil }},
		Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return f.clock },
	})
	if err != nil {
		b.Fatal(err)
	}
	end, _, err := r.Discover(b.Context(), nil, false)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	rows := int64(0)
	for b.Loop() {
		stats, err := r.Read(b.Context(), nil, end, func(*stream.Record[reading]) error { return nil })
		if err != nil || stats.Rows != count {
			b.Fatalf("%d rows, %v", stats.Rows, err)
		}
		rows += stats.Rows
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
