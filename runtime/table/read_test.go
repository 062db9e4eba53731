package table

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// A data file that is not as the log says is an error that names it.
func TestDamagedDataFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(t *testing.T, path, whole string)
		want   string
	}{
		{"gone", func(t *testing.T, path, _ string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "no such file"},
		{"empty", func(t *testing.T, path, _ string) { writeText(t, path, "") }, "the file has 0 bytes, and the log says"},
		{"torn", func(t *testing.T, path, whole string) { writeText(t, path, whole[:len(whole)-5]) }, "bytes, and the log says"},
		{"zeros", func(t *testing.T, path, whole string) { writeText(t, path, strings.Repeat("\x00", len(whole))) }, "the file is damaged: its checksum"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			ts := openTable(t, s, "t", unit("c", "f"), idColumn())
			staged := stage(t, ts, stream.Attempt{Epoch: 1}, ids(1, 2, 3)...)
			publish(t, ts, 1, staged)
			path := filepath.Join(s.Path("t"), staged.Artefacts[0].Path)
			test.damage(t, path, readText(t, path))
			err := ReadRows(context.Background(), s.Path("t"), func([]byte) error { return nil })
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("ReadRows: %v, want %q and %s", err, test.want, path)
			}
		})
	}
}

// Any single byte of a data file of ours may be wrong, and it is noticed.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	columns := fields("s", schemas.String, "l", listOf(schemas.Type{Kind: schemas.Int64}))
	ts := openTable(t, s, "t", unit("c", "f"), columns)
	staged := stage(t, ts, stream.Attempt{Epoch: 1}, []any{"a", list{int64(1)}}, []any{nil, list{}})
	publish(t, ts, 1, staged)
	path := filepath.Join(s.Path("t"), staged.Artefacts[0].Path)
	whole := []byte(readText(t, path))
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x55
		writeText(t, path, string(damaged))
		err := ReadRows(context.Background(), s.Path("t"), func([]byte) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "the file is damaged") {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

// writeParquet returns a Parquet file as another writer might make it.
func writeParquet(t *testing.T, root parquet.Node, rows []parquet.Row) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, parquet.NewSchema("other", root))
	if _, err := w.WriteRows(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// addFile commits a data file of another writer.
func addFile(t *testing.T, dir, name, content string) {
	t.Helper()
	writeText(t, filepath.Join(dir, name), content)
	s, err := openLog(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	uri := strings.ReplaceAll(strings.ReplaceAll(name, "%", "%25"), " ", "%20")
	text, err := encodeActions([]action{{Add: &addAction{Path: uri, Size: int64(len(content)), DataChange: true}}})
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, commitPath(dir, s.version+1), string(text))
}

// Files of other writers are read by the names of their columns: columns they
// lack are null, columns the table lacks are passed over, at every level.
func TestFilesOfOtherWriters(t *testing.T) {
	t.Parallel()
	inner := structOf("S", fields("a", schemas.Int64, "b", schemas.String))
	columns := fields("at", schemas.Timestamp, "big", schemas.Uint64, "list", listOf(inner), "none", inner)
	s := testStore(t)
	openTable(t, s, "t", unit("c", "f"), columns)
	root := parquet.Group{
		"at":    parquet.Timestamp(parquet.Millisecond),                                                                    // 0
		"big":   parquet.Decimal(0, 20, parquet.FixedLenByteArrayType(16)),                                                 // 1
		"extra": parquet.Repeated(parquet.Int(32)),                                                                         // 2
		"list":  parquet.List(parquet.Group{"a": parquet.Optional(parquet.Int(64)), "old": parquet.List(parquet.Int(32))}), // 3, 4
	}
	negative := bytes.Repeat([]byte{0xff}, 16)
	content := writeParquet(t, root, []parquet.Row{
		{
			parquet.Int64Value(1500).Level(0, 0, 0),
			parquet.FixedLenByteArrayValue(append(make([]byte, 15), 7)).Level(0, 0, 1),
			parquet.Int32Value(1).Level(0, 1, 2), parquet.Int32Value(2).Level(1, 1, 2),
			parquet.Int64Value(1).Level(0, 2, 3), parquet.NullValue().Level(1, 1, 3),
			parquet.Int32Value(8).Level(0, 2, 4), parquet.Int32Value(9).Level(2, 2, 4), parquet.NullValue().Level(1, 1, 4),
		},
		{
			parquet.Int64Value(-1).Level(0, 0, 0),
			parquet.FixedLenByteArrayValue(negative).Level(0, 0, 1),
			parquet.NullValue().Level(0, 0, 2),
			parquet.NullValue().Level(0, 0, 3),
			parquet.NullValue().Level(0, 0, 4),
		},
	})
	addFile(t, s.Path("t"), "with 100% space.parquet", content)
	want := []string{
		`{"at":"1970-01-01T00:00:01.5Z","big":7,"list":[{"a":1,"b":null},{"a":null,"b":null}],"none":null}`,
		`{"at":"1969-12-31T23:59:59.999Z","big":-1,"list":[],"none":null}`,
	}
	if diff := cmp.Diff(want, rowsOf(t, s.Path("t"))); diff != "" {
		t.Fatal(diff)
	}
	info, err := Describe(s.Path("t"))
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"at timestamp", "big decimal(20,0)", "list array<struct<a:long,b:string>>", "none struct<a:long,b:string>"}
	var got []string
	for _, c := range info.Columns {
		got = append(got, c.Name+" "+c.Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	// The log of this file does not count its rows.
	if info.Rows != 2 || info.Files != 1 || info.Comment != "a test" {
		t.Fatalf("info is %+v", info)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	of := func(name string, n parquet.Node) string { return writeParquet(t, parquet.Group{name: n}, nil) }
	tests := []struct {
		name, content, want string
	}{
		{"not Parquet", "PAR1 is not all of it", "the file is damaged"},
		{"zeros", strings.Repeat("\x00", 300), "the file is damaged"},
		{"bad footer", writeParquet(t, parquet.Group{"id": parquet.Int(64)}, nil)[:8] + "\xff\xff\xff\x03\x00\x00\x00PAR1", "the file is damaged"},
		{"wrong type", of("id", parquet.String()), "column id of type long is stored as STRING"},
		{"wrong shape", of("id", parquet.List(parquet.Int(64))), "column id of type long is stored in another shape"},
		{"list of two levels", of("l", parquet.Repeated(parquet.Int(64))), "column l of type array<long> is stored in another shape"},
		{"wrong element", of("l", parquet.List(parquet.Leaf(parquet.DoubleType))), "column l[] of type long is stored as DOUBLE"},
		{"local time", of("at", parquet.TimestampAdjusted(parquet.Microsecond, false)), "column at of type timestamp is stored as TIMESTAMP"},
		{"old time", of("at", parquet.Leaf(parquet.Int96Type)), "column at of type timestamp is stored as INT96"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			columns := fields("id", schemas.Int64, "l", listOf(schemas.Type{Kind: schemas.Int64}), "at", schemas.Timestamp)
			openTable(t, s, "t", unit("c", "f"), columns)
			addFile(t, s.Path("t"), "other.parquet", test.content)
			err := ReadRows(context.Background(), s.Path("t"), func([]byte) error { return nil })
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "other.parquet") {
				t.Fatalf("ReadRows: %v, want %q", err, test.want)
			}
		})
	}
}

func TestRefusedAdds(t *testing.T) {
	t.Parallel()
	for add, want := range map[string]string{
		`{"path":"/etc/passwd"}`:                "outside of the table's folder",
		`{"path":"file:///a.parquet"}`:          "outside of the table's folder",
		`{"path":"s3://bucket/a.parquet"}`:      "outside of the table's folder",
		`{"path":"a/../../b.parquet"}`:          "outside of the table's folder",
		`{"path":"%2e%2e/b.parquet"}`:           "outside of the table's folder",
		`{"path":"%zz.parquet"}`:                "is not a URI",
		`{"path":"a","deletionVector":{"a":1}}`: "names a deletion vector",
	} {
		s := testStore(t)
		openTable(t, s, "t", unit("c", "f"), idColumn())
		writeText(t, commitPath(s.Path("t"), 1), `{"add":`+add+`}`)
		if err := ReadRows(context.Background(), s.Path("t"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", add, err, want)
		}
	}
}

func TestReadRowsStops(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	publish(t, ts, 1, stage(t, ts, stream.Attempt{Epoch: 1}, ids(1, 2, 3)...))
	stop := errors.New("stop")
	rows := 0
	err := ReadRows(context.Background(), s.Path("t"), func([]byte) error { rows++; return stop })
	if !errors.Is(err, stop) || rows != 1 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ReadRows(ctx, s.Path("t"), nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("ended context: %v", err)
	}
	change(t, s.Path("t"), addColumn("day", "date", true))
	err = ReadRows(context.Background(), s.Path("t"), nil)
	if err == nil || !strings.Contains(err.Error(), "column day has the type date, which this build does not read") {
		t.Fatalf("unknown type: %v", err)
	}
}
