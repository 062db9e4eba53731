package table

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// The model of a value: nil, bool, int64, uint64, float64, string, []byte,
// time.Time, time.Duration, list or structure.
type (
	list      []any
	structure []any
)

// write hands a model value to a writer.
func write(w stream.ColumnWriter, v any) {
	switch v := v.(type) {
	case nil:
		w.Null()
	case bool:
		w.Bool(v)
	case int64:
		w.Int(v)
	case uint64:
		w.Uint(v)
	case float64:
		w.Float(v)
	case string:
		w.String(v)
	case []byte:
		w.Bytes(v)
	case time.Time:
		w.Time(v)
	case time.Duration:
		w.Duration(v)
	case list:
		w.BeginList(len(v))
		for _, e := range v {
			write(w, e)
		}
		w.EndList()
	case structure:
		w.BeginStruct()
		for _, e := range v {
			write(w, e)
		}
		w.EndStruct()
	default:
		panic(fmt.Sprintf("no model value: %T", v))
	}
}

// writeRow writes one row of model values.
func writeRow(w stream.RowWriter, row ...any) error {
	w.BeginRow()
	for _, v := range row {
		write(w, v)
	}
	return w.EndRow()
}

// rowText is the JSON that ReadRows must give for a row, made without any of the
// package's code.
func rowText(fields []schemas.Field, row []any) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = stdJSON(f.Name) + ":" + valueText(f.Type, row[i])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func valueText(t schemas.Type, v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		switch {
		case math.IsNaN(v):
			return `"NaN"`
		case math.IsInf(v, 1):
			return `"Infinity"`
		case math.IsInf(v, -1):
			return `"-Infinity"`
		case t.Kind == schemas.Float32:
			return stdJSON(float32(v))
		}
		return stdJSON(v)
	case []byte:
		return strconv.Quote(base64.StdEncoding.EncodeToString(v))
	case time.Time:
		return strconv.Quote(v.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano))
	case time.Duration:
		return strconv.FormatInt(int64(v), 10)
	case list:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = valueText(*t.Elem, e)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case structure:
		return rowText(t.Fields, v)
	}
	return stdJSON(v)
}

func stdJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fields makes columns from "name", kind pairs.
func fields(pairs ...any) []schemas.Field {
	var fs []schemas.Field
	for i := 0; i < len(pairs); i += 2 {
		f := schemas.Field{ID: i/2 + 1, Name: pairs[i].(string)}
		switch t := pairs[i+1].(type) {
		case schemas.Kind:
			f.Type = schemas.Type{Kind: t}
		case schemas.Type:
			f.Type = t
		}
		fs = append(fs, f)
	}
	return fs
}

func listOf(t schemas.Type) schemas.Type { return schemas.Type{Kind: schemas.List, Elem: &t} }

func structOf(name string, fs []schemas.Field) schemas.Type {
	return schemas.Type{Kind: schemas.Struct, Name: name, Fields: fs}
}

func scalarKinds() []schemas.Kind {
	return []schemas.Kind{
		schemas.Bool, schemas.Int8, schemas.Int16, schemas.Int32, schemas.Int64,
		schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64,
		schemas.Float32, schemas.Float64, schemas.String, schemas.Bytes,
		schemas.Timestamp, schemas.Duration,
	}
}

// generator makes random schemas and rows.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 17))} }

func (g generator) columns() []schemas.Field { return g.fields(1+g.IntN(6), 0) }

func (g generator) fields(n, depth int) []schemas.Field {
	fs := make([]schemas.Field, n)
	for i := range fs {
		name := fmt.Sprintf("%s%d", []string{"c", "Name", "é-x.", "z_"}[g.IntN(4)], n-i)
		fs[i] = schemas.Field{ID: i + 1, Name: name, Type: g.typ(depth)}
	}
	return fs
}

func (g generator) typ(depth int) schemas.Type {
	kinds := scalarKinds()
	t := schemas.Type{Optional: g.IntN(2) == 0}
	switch n := g.IntN(len(kinds) + 6); {
	case n < len(kinds) || depth == 4:
		t.Kind = kinds[n%len(kinds)]
	case n%2 == 0:
		elem := g.typ(depth + 1)
		t.Kind, t.Elem = schemas.List, &elem
	default:
		t.Kind, t.Name, t.Fields = schemas.Struct, "S", g.fields(1+g.IntN(3), depth+1)
	}
	return t
}

func (g generator) row(fs []schemas.Field) []any {
	row := make([]any, len(fs))
	for i, f := range fs {
		row[i] = g.value(f.Type, true)
	}
	return row
}

// value makes a value; nullable says that the place may hold null.
func (g generator) value(t schemas.Type, nullable bool) any {
	if nullable && g.IntN(4) == 0 {
		return nil
	}
	switch t.Kind {
	case schemas.Bool:
		return g.IntN(2) == 0
	case schemas.Int8, schemas.Int16, schemas.Int32, schemas.Int64:
		return g.signed(t.Kind)
	case schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64:
		_, high := intRange(t.Kind)
		return g.pick(0, high, g.Uint64()&high)
	case schemas.Float32:
		return float64(float32(g.float()))
	case schemas.Float64:
		return g.float()
	case schemas.String:
		return g.text()
	case schemas.Bytes:
		p := make([]byte, g.IntN(6))
		for i := range p {
			p[i] = byte(g.Uint32())
		}
		return p
	case schemas.Timestamp:
		// From the year 1 to 9999, with nanoseconds, in some zone.
		return time.Unix(-62135596800+g.Int64N(315537897600), g.Int64N(1e9)).In(time.FixedZone("z", int(g.Int64N(3600))))
	case schemas.Duration:
		return time.Duration(g.Uint64())
	case schemas.List:
		l := make(list, g.IntN(4))
		for i := range l {
			l[i] = g.value(*t.Elem, t.Elem.Optional)
		}
		return l
	}
	return structure(g.row(t.Fields))
}

func (g generator) pick(values ...uint64) uint64 { return values[g.IntN(len(values))] }

func (g generator) signed(k schemas.Kind) int64 {
	low, high := intRange(k)
	v := int64(g.Uint64() & high)
	return []int64{low, int64(high), v, -v, 0}[g.IntN(5)]
}

func (g generator) float() float64 {
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e21, 1e-7, 0.1, 5e-324, math.MaxFloat32}
	if g.IntN(2) == 0 {
		return special[g.IntN(len(special))]
	}
	return g.NormFloat64() * math.Pow(10, float64(g.IntN(40)-20))
}

func (g generator) text() string {
	if g.IntN(8) == 0 {
		return strings.Repeat("long and longer ", g.IntN(400))
	}
	var b []byte
	for range g.IntN(8) {
		b = utf8.AppendRune(b, []rune{'a', 'Z', '"', '\\', '<', '\n', 0, 'é', '世', '😀', utf8.MaxRune, '\u2028'}[g.IntN(12)])
	}
	return string(b)
}

// testStore returns a store in a new folder, without flushes and with a clock
// that stands still.
func testStore(t testing.TB) *Store {
	t.Helper()
	return sameStore(t, t.TempDir())
}

func sameStore(t testing.TB, dir string) *Store {
	t.Helper()
	return NewStore(dir, Options{NoSync: true, Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }})
}

func unit(checkpoint, flow string) stream.Unit {
	return stream.Unit{Checkpoint: checkpoint, Flow: flow}
}

// openTable opens a table or ends the test.
func openTable(t testing.TB, s *Store, name string, u stream.Unit, columns []schemas.Field) stream.TableSink {
	t.Helper()
	ts, err := s.Open(context.Background(), stream.TableSpec{Name: name, Comment: "a test", Columns: columns}, u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

// stage runs an attempt up to Prepare. rows are written in turn to the lanes.
func stage(t testing.TB, ts stream.TableSink, a stream.Attempt, rows ...[]any) stream.Staged {
	t.Helper()
	if a.Lanes == 0 {
		a.Lanes = 1
	}
	if a.Number == 0 {
		a.Number = 1
	}
	ctx := context.Background()
	if err := ts.Begin(ctx, a); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if err := writeRow(ts.Lane(i*a.Lanes/len(rows)), row...); err != nil {
			t.Fatal(err)
		}
	}
	staged, err := ts.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return staged
}

// publication names the decision of a staged epoch.
func publicationOf(epoch int64, staged stream.Staged) stream.Publication {
	return stream.Publication{Epoch: epoch, Attempt: 1, Manifest: fmt.Sprintf("xxh3:%016x", epoch), Staged: staged}
}

func publish(t testing.TB, ts stream.TableSink, epoch int64, staged stream.Staged) {
	t.Helper()
	if err := ts.Publish(context.Background(), publicationOf(epoch, staged)); err != nil {
		t.Fatal(err)
	}
}

// rowsOf reads a whole table.
func rowsOf(t testing.TB, dir string) []string {
	t.Helper()
	var rows []string
	err := ReadRows(context.Background(), dir, func(row []byte) error {
		rows = append(rows, string(row))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// dataFiles lists the data files in a table's folder, named by the log or not.
func dataFiles(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func readText(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeText(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
