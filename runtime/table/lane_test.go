package table

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// Each value that does not fit is refused by EndRow with the column's name, the
// row and the lane, and leaves nothing behind.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	optional := schemas.Type{Kind: schemas.Int64, Optional: true}
	nested := structOf("S", fields("a", schemas.Int64, "b", listOf(schemas.Type{Kind: schemas.Int8})))
	tests := []struct {
		name   string
		column any
		write  func(stream.RowWriter)
		want   string
	}{
		{"int8 above", schemas.Int8, func(w stream.RowWriter) { w.Int(128) }, "column c: 128 does not fit int8"},
		{"int8 below", schemas.Int8, func(w stream.RowWriter) { w.Int(-129) }, "column c: -129 does not fit int8"},
		{"int16", schemas.Int16, func(w stream.RowWriter) { w.Int(1 << 15) }, "column c: 32768 does not fit int16"},
		{"int32", schemas.Int32, func(w stream.RowWriter) { w.Int(-1<<31 - 1) }, "column c: -2147483649 does not fit int32"},
		{"int64 from uint", schemas.Int64, func(w stream.RowWriter) { w.Uint(1 << 63) }, "column c: 9223372036854775808 does not fit int64"},
		{"uint8", schemas.Uint8, func(w stream.RowWriter) { w.Uint(256) }, "column c: 256 does not fit uint8"},
		{"uint16 below", schemas.Uint16, func(w stream.RowWriter) { w.Int(-1) }, "column c: -1 does not fit uint16"},
		{"uint32", schemas.Uint32, func(w stream.RowWriter) { w.Uint(1 << 32) }, "column c: 4294967296 does not fit uint32"},
		{"uint64 below", schemas.Uint64, func(w stream.RowWriter) { w.Int(-1) }, "column c: -1 does not fit uint64"},
		{"float32 too great", schemas.Float32, func(w stream.RowWriter) { w.Float(1e300) }, "column c: 1e+300 does not fit float32"},
		{"float32 too fine", schemas.Float32, func(w stream.RowWriter) { w.Float(0.1) }, "column c: 0.1 does not fit float32"},
		{"UTF-8", schemas.String, func(w stream.RowWriter) { w.String("a\xff") }, `column c: "a\xff" is not valid UTF-8`},
		{"long UTF-8", schemas.String, func(w stream.RowWriter) { w.String(strings.Repeat("a", 100) + "\xff") }, `"…`},
		{"year 0", schemas.Timestamp, func(w stream.RowWriter) { w.Time(time.Time{}.Add(-1)) }, "column c: an instant in the year 0"},
		{"year 10000", schemas.Timestamp, func(w stream.RowWriter) { w.Time(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }, "year 10000"},
		{"far future", schemas.Timestamp, func(w stream.RowWriter) { w.Time(time.Unix(math.MaxInt64/2, 0)) }, "is outside of 1 to 9999"},
		{"string for long", schemas.Int64, func(w stream.RowWriter) { w.String("1") }, "column c of type long cannot hold a string"},
		{"int for string", schemas.String, func(w stream.RowWriter) { w.Int(1) }, "column c of type string cannot hold an integer"},
		{"int for duration", schemas.Duration, func(w stream.RowWriter) { w.Int(1) }, "column c of type long (duration) cannot hold an integer"},
		{"bool for double", schemas.Float64, func(w stream.RowWriter) { w.Bool(true) }, "cannot hold a boolean"},
		{"float for bool", schemas.Bool, func(w stream.RowWriter) { w.Float(1) }, "cannot hold a floating-point number"},
		{"bytes for string", schemas.String, func(w stream.RowWriter) { w.Bytes(nil) }, "cannot hold bytes"},
		{"time for long", schemas.Int64, func(w stream.RowWriter) { w.Time(time.Now()) }, "cannot hold an instant"},
		{"duration for long", schemas.Int64, func(w stream.RowWriter) { w.Duration(1) }, "cannot hold a duration"},
		{"list for long", schemas.Int64, func(w stream.RowWriter) { w.BeginList(0); w.EndList() }, "cannot hold a list"},
		{"struct for long", schemas.Int64, func(w stream.RowWriter) { w.BeginStruct(); w.EndStruct() }, "cannot hold a struct"},
		{"long for list", listOf(optional), func(w stream.RowWriter) { w.Int(1) }, "column c of type array<long> cannot hold an integer"},
		{"null element", listOf(schemas.Type{Kind: schemas.Int64}), func(w stream.RowWriter) { write(w, list{int64(1), nil}) }, "column c[] cannot hold null: its type is not optional"},
		{"list too short", listOf(optional), func(w stream.RowWriter) { w.BeginList(2); w.Int(1); w.EndList() }, "column c: the list was begun with 2 elements and has 1"},
		{"list too long", listOf(optional), func(w stream.RowWriter) { w.BeginList(0); w.Int(1); w.EndList() }, "begun with 0 elements and has 1"},
		{"list not ended", listOf(optional), func(w stream.RowWriter) { w.BeginList(1); w.Int(1) }, "column c is not ended"},
		{"list ended as struct", listOf(optional), func(w stream.RowWriter) { w.BeginList(0); w.EndStruct() }, "a struct ends in c that has not begun there"},
		{"end without begin", schemas.Int64, func(w stream.RowWriter) { w.Int(1); w.EndList() }, "a list ends in the row that has not begun there"},
		{"struct too short", nested, func(w stream.RowWriter) { write(w, structure{int64(1)}) }, "column c.b has no value"},
		{"struct too long", nested, func(w stream.RowWriter) { write(w, structure{int64(1), list{}, int64(1)}) }, "c has more values than its 2 columns"},
		{"nested value", nested, func(w stream.RowWriter) { write(w, structure{int64(1), list{int64(1), int64(200)}}) }, "column c.b[]: 200 does not fit int8"},
		{"no value", schemas.Int64, func(stream.RowWriter) {}, "column c has no value"},
		{"too many values", schemas.Int64, func(w stream.RowWriter) { w.Int(1); w.Int(2) }, "the row has more values than its 2 columns"},
		{"first error stays", schemas.Int8, func(w stream.RowWriter) { w.Int(1000); w.Int(1); w.String("") }, "1000 does not fit"},
		{"begin in a row", schemas.Int64, func(w stream.RowWriter) { w.BeginRow() }, "a row begins inside a row"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			row, err := rowOf(fields("before", schemas.String, "c", test.column))
			if err != nil {
				t.Fatal(err)
			}
			l := newLane(row, 3)
			good := func() {
				l.BeginRow()
				l.String("ok")
				l.Null()
				if err := l.EndRow(); err != nil {
					t.Fatal(err)
				}
			}
			good()
			before := fmt.Sprint(l.buffers)
			l.BeginRow()
			l.String("bad")
			test.write(l)
			err = l.EndRow()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("EndRow: %v, want %q", err, test.want)
			}
			if want := "table: row 2 of lane 3: "; !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("EndRow: %v, want %q first", err, want)
			}
			if after := fmt.Sprint(l.buffers); after != before {
				t.Fatalf("the refused row left something behind:\n%s\n%s", before, after)
			}
			good()
		})
	}
}

func TestEndRowWithoutBegin(t *testing.T) {
	t.Parallel()
	row, err := rowOf(fields("c", schemas.Int64))
	if err != nil {
		t.Fatal(err)
	}
	l := newLane(row, 0)
	l.Int(1)
	if err := l.EndRow(); err == nil || !strings.Contains(err.Error(), "row 1 of lane 0: a row ends that has not begun") {
		t.Fatalf("EndRow: %v", err)
	}
}

// Refused rows between good ones, cut off anywhere, change nothing about the
// good ones.
func TestRefusedRowsLeaveNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		g := newGenerator(seed)
		columns := append(g.columns(), fields("last", schemas.Int8)...)
		s := testStore(t)
		ts := openTable(t, s, "t", unit("c", "f"), columns)
		ctx := context.Background()
		if err := ts.Begin(ctx, stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for range 50 {
			row := g.row(columns)
			row[len(row)-1] = int64(1)
			if g.IntN(2) == 0 {
				if err := writeRow(ts.Lane(0), row...); err != nil {
					t.Fatal(err)
				}
				want = append(want, rowText(columns, row))
				continue
			}
			if err := writeRow(ts.Lane(0), append(row[:g.IntN(len(row))], structure{"x"})...); err == nil {
				t.Fatal("a bad row was accepted")
			}
		}
		staged, err := ts.Prepare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, ts, 1, staged)
		if diff := cmp.Diff(want, rowsOf(t, s.Path("t"))); diff != "" {
			t.Fatalf("seed %d: rows differ (-want +got):\n%s", seed, diff)
		}
	}
}

// The extremes of every type are accepted and come back.
func TestExtremes(t *testing.T) {
	t.Parallel()
	day := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	tests := map[schemas.Kind][]any{
		schemas.Int8:      {int64(-128), int64(127), uint64(127)},
		schemas.Int64:     {int64(math.MinInt64), uint64(math.MaxInt64)},
		schemas.Uint8:     {int64(0), uint64(255)},
		schemas.Uint32:    {int64(math.MaxUint32), uint64(math.MaxUint32)},
		schemas.Uint64:    {int64(0), uint64(math.MaxUint64)},
		schemas.Float32:   {math.MaxFloat32, math.NaN(), math.Inf(-1), math.Copysign(0, -1)},
		schemas.Float64:   {math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1)},
		schemas.String:    {"", "\x00", "\U0010ffff"},
		schemas.Bytes:     {[]byte{}, []byte{0xff, 0}},
		schemas.Timestamp: {time.Time{}, day(10000).Add(-1), day(1969).Add(999), day(1969).Add(-1)},
		schemas.Duration:  {time.Duration(math.MinInt64), time.Duration(math.MaxInt64)},
	}
	for kind, values := range tests {
		columns := fields("c", kind)
		s := testStore(t)
		ts := openTable(t, s, "t", unit("c", "f"), columns)
		var rows [][]any
		var want []string
		for _, v := range values {
			rows = append(rows, []any{v})
			want = append(want, rowText(columns, []any{v}))
		}
		publish(t, ts, 1, stage(t, ts, stream.Attempt{Epoch: 1}, rows...))
		if diff := cmp.Diff(want, rowsOf(t, s.Path("t"))); diff != "" {
			t.Errorf("%s: rows differ (-want +got):\n%s", kind, diff)
		}
	}
}

// Taking rows allocates nothing but the buffers' growth.
func TestRowsDoNotAllocate(t *testing.T) {
	columns := fields("i", schemas.Int32, "u", schemas.Uint64, "f", schemas.Float32, "s", schemas.String, "b", schemas.Bytes,
		"t", schemas.Timestamp, "d", schemas.Duration, "l", listOf(structOf("S", fields("x", schemas.Bool))), "n", schemas.Bool)
	row, err := rowOf(columns)
	if err != nil {
		t.Fatal(err)
	}
	values := []any{int64(1), uint64(2), 0.5, "text", []byte("bytes"), time.Now(), time.Second, list{structure{true}}, nil}
	l := newLane(row, 0)
	fill := func() {
		l.reset()
		for range 100 {
			l.BeginRow()
			for _, v := range values {
				write(l, v)
			}
			if err := l.EndRow(); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n > 0 {
		t.Fatalf("%v allocations for 100 rows, want none", n)
	}
}
