package table

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// statsOf stages rows and returns the statistics of the only file.
func statsOf(t *testing.T, columns []schemas.Field, rows ...[]any) string {
	t.Helper()
	ts := openTable(t, testStore(t), "t", unit("c", "f"), columns)
	state, err := parseState(stage(t, ts, stream.Attempt{Epoch: 1}, rows...).State)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Files) != 1 {
		t.Fatalf("%d files", len(state.Files))
	}
	return state.Files[0].Stats
}

func TestStats(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 31)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	tests := []struct {
		name     string
		kind     schemas.Kind
		values   []any
		min, max string // "" means no bounds
	}{
		{"integers", schemas.Int8, []any{int64(3), int64(-5), nil}, "-5", "3"},
		{"unsigned", schemas.Uint64, []any{uint64(math.MaxUint64), uint64(1), nil}, "1", "18446744073709551615"},
		{"duration", schemas.Duration, []any{time.Second, -time.Second, nil}, "-1000000000", "1000000000"},
		{"floats", schemas.Float64, []any{1.5, -2.25, nil}, "-2.25", "1.5"},
		{"float32", schemas.Float32, []any{float64(float32(0.1)), nil}, "0.10000000149011612", "0.10000000149011612"},
		{"zeros", schemas.Float64, []any{0.0, math.Copysign(0, -1), nil}, "-0", "0"},
		{"NaN", schemas.Float64, []any{1.0, math.NaN(), nil}, "", ""},
		{"infinity", schemas.Float32, []any{1.0, math.Inf(-1), nil}, "", ""},
		{"booleans", schemas.Bool, []any{true, nil}, "", ""},
		{"binary", schemas.Bytes, []any{[]byte("a"), nil}, "", ""},
		{"instants", schemas.Timestamp, []any{at, at.Add(-time.Hour), nil}, `"2026-01-02T02:04:05.678901Z"`, `"2026-01-02T03:04:05.678901Z"`},
		{"strings", schemas.String, []any{"b", "a<", "", nil}, `""`, `"b"`},
		{"32 characters", schemas.String, []any{long + "x", nil}, `"` + long + `x"`, `"` + long + `x"`},
		{"33 characters", schemas.String, []any{long + "xy", nil}, `"` + long + `x"`, `"` + long + "\U0010ffff" + `"`},
		{"no greater character", schemas.String, []any{long + "\U0010ffff" + "y", nil}, "", ""},
		{"nulls", schemas.Int64, []any{nil}, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var rows [][]any
			for _, v := range test.values {
				rows = append(rows, []any{v})
			}
			text := statsOf(t, fields("c", test.kind), rows...)
			var got fileStats
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got.NumRecords != int64(len(rows)) || got.NullCount["c"] != 1 {
				t.Errorf("counts are wrong: %s", text)
			}
			if string(got.MinValues["c"]) != test.min || string(got.MaxValues["c"]) != test.max {
				t.Errorf("bounds are %s and %s, want %s and %s", got.MinValues["c"], got.MaxValues["c"], test.min, test.max)
			}
		})
	}
}

// Bounds of strings hold for every string, in byte order.
func TestStringBoundsHold(t *testing.T) {
	t.Parallel()
	g := newGenerator(1)
	for range 5000 {
		stats := &columnStats{col: &column{kind: schemas.String}}
		var all []string
		for range 1 + g.IntN(4) {
			s := g.text() + g.text() + g.text() + g.text()
			all = append(all, s)
			stats.bytes([]byte(s))
		}
		if stats.unbounded {
			continue
		}
		low, high := string(stats.minBytes), string(stats.maxBytes)
		for _, s := range all {
			if low > s || high < s {
				t.Fatalf("%q is not between %q and %q", s, low, high)
			}
		}
		if !utf8.ValidString(low) || !utf8.ValidString(high) || utf8.RuneCountInString(low) > maxStatChars || utf8.RuneCountInString(high) > maxStatChars {
			t.Fatalf("bad bounds %q and %q", low, high)
		}
	}
}

// Only top-level scalars among the first columns have statistics.
func TestStatsAreBounded(t *testing.T) {
	t.Parallel()
	var columns []schemas.Field
	var row []any
	for i := range maxStatColumns + 5 {
		columns = append(columns, fields("c"+strings.Repeat("x", i), schemas.Int64)...)
		row = append(row, int64(i))
	}
	columns[1].Type = listOf(schemas.Type{Kind: schemas.Int64})
	row[1] = list{int64(1)}
	var got fileStats
	if err := json.Unmarshal([]byte(statsOf(t, columns, row)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, c := range columns[:maxStatColumns] {
		want[c.Name] = 0
	}
	delete(want, columns[1].Name)
	if diff := cmp.Diff(want, got.NullCount); diff != "" {
		t.Fatalf("columns with statistics (-want +got):\n%s", diff)
	}
}
