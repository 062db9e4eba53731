package table

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// readFields reads the columns of fields as model values.
func readFields(r stream.ColumnReader, fs []schemas.Field) []any {
	row := make([]any, len(fs))
	for i, f := range fs {
		row[i] = readValue(r, f.Type, true)
	}
	return row
}

// readValue reads one value. nullable says that the place may hold null.
func readValue(r stream.ColumnReader, t schemas.Type, nullable bool) any {
	if (nullable || t.Optional) && r.Null() {
		return nil
	}
	switch t.Kind {
	case schemas.Bool:
		return r.Bool()
	case schemas.Int8, schemas.Int16, schemas.Int32, schemas.Int64:
		return r.Int(map[schemas.Kind]int{schemas.Int8: 8, schemas.Int16: 16, schemas.Int32: 32, schemas.Int64: 64}[t.Kind])
	case schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64:
		return r.Uint(map[schemas.Kind]int{schemas.Uint8: 8, schemas.Uint16: 16, schemas.Uint32: 32, schemas.Uint64: 64}[t.Kind])
	case schemas.Float32:
		return r.Float(32)
	case schemas.Float64:
		return r.Float(64)
	case schemas.String:
		return r.String()
	case schemas.Bytes:
		return r.Bytes()
	case schemas.Timestamp:
		return r.Time()
	case schemas.Duration:
		return r.Duration()
	case schemas.List:
		l := list{}
		r.BeginList()
		for r.NextElem() {
			l = append(l, readValue(r, *t.Elem, t.Elem.Optional))
		}
		return l
	}
	r.BeginStruct()
	s := structure(readFields(r, t.Fields))
	r.EndStruct()
	return s
}

func openReader(t testing.TB, s *Store, columns []schemas.Field) stream.TableReader {
	t.Helper()
	r, err := s.OpenReader(context.Background(), stream.TableSpec{Name: "t", Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func discover(t testing.TB, r stream.TableReader, from stream.Position) stream.Position {
	t.Helper()
	end, journal, err := r.Discover(context.Background(), from, false)
	if err != nil || journal != nil {
		t.Fatalf("journal %s, error %v", journal, err)
	}
	return end
}

// readAll returns the rows between two positions, as JSON, and makes sure that
// partition and offset rise.
func readAll(r stream.TableReader, columns []schemas.Field, from, to stream.Position) ([]string, error) {
	var rows []string
	last := stream.RowPlace{Partition: -1}
	stats, err := r.Read(context.Background(), from, to, func(row stream.RowReader) error {
		rows = append(rows, rowText(columns, readFields(row, columns)))
		p := row.Place()
		if p.Partition < last.Partition || p.Partition == last.Partition && p.Offset <= last.Offset {
			return fmt.Errorf("place %v follows %v", p, last)
		}
		last = p
		return row.EndRow()
	})
	if err == nil && stats.Rows != int64(len(rows)) {
		err = fmt.Errorf("%d rows, and the stats say %d", len(rows), stats.Rows)
	}
	return rows, err
}

func mustRead(t testing.TB, r stream.TableReader, columns []schemas.Field, from, to stream.Position) []string {
	t.Helper()
	rows, err := readAll(r, columns, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// appendTo publishes the next epoch.
func appendTo(t testing.TB, ts stream.TableSink, epoch int64, prior *stream.Staged, rows ...[]any) {
	t.Helper()
	*prior = stage(t, ts, stream.Attempt{Epoch: epoch, Prior: prior.State}, rows...)
	publish(t, ts, epoch, *prior)
}

// Whatever rows of whatever schema are appended come back as they were, in order
// and once, however epochs are cut, whether the reader is the same or a new one,
// and from any position again.
func TestStreamOfRandomRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := newGenerator(seed)
			columns := g.columns()
			s := testStore(t)
			s.limits = fileLimits{fileBytes: 1 << (10 + g.IntN(8)), groupRows: 1 << (9 + g.IntN(4)), groupBytes: 1 << 20}
			ts := openTable(t, s, "t", unit("c", "f"), columns)
			r := openReader(t, s, columns)
			var want, got []string
			var at stream.Position
			var prior stream.Staged
			for epoch := int64(1); epoch <= 4; epoch++ {
				rows := make([][]any, g.IntN(1+[]int{3, 100, 3000}[g.IntN(3)]))
				for i := range rows {
					rows[i] = g.row(columns)
					want = append(want, rowText(columns, rows[i]))
				}
				appendTo(t, ts, epoch, &prior, rows...)
				end := discover(t, r, at)
				limits := stream.Limits{Rows: int64(1 + g.IntN(900)), Bytes: int64(g.IntN(2)) << (8 + g.IntN(10))}
				for !at.Equal(end) {
					to, err := r.Cut(context.Background(), at, end, limits)
					if err != nil {
						t.Fatal(err)
					}
					part := mustRead(t, r, columns, at, to)
					if int64(len(part)) > limits.Rows || len(part) == 0 && !to.Equal(end) {
						t.Fatalf("%d rows from %s to %s, limit %d", len(part), at, to, limits.Rows)
					}
					if g.IntN(3) == 0 {
						r = openReader(t, sameStore(t, s.dir), columns)
						if diff := cmp.Diff(part, mustRead(t, r, columns, at, to)); diff != "" {
							t.Fatalf("read again, rows differ:\n%s", diff)
						}
					}
					at, got = to, append(got, part...)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("rows differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, mustRead(t, r, columns, nil, at)); diff != "" {
				t.Fatalf("all at once, rows differ (-want +got):\n%s", diff)
			}
		})
	}
}

// A table need not be there yet, and an empty one is no input either.
func TestStreamBeforeTheTable(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := openReader(t, s, idColumn())
	if end := discover(t, r, nil); end != nil {
		t.Fatalf("a table that is not there ends at %s", end)
	}
	ts := openTable(t, s, "t", unit("c", "f"), idColumn())
	if end := discover(t, r, nil); end != nil {
		t.Fatalf("an empty table ends at %s", end)
	}
	var prior stream.Staged
	appendTo(t, ts, 1, &prior, ids(1, 2)...)
	end := discover(t, r, nil)
	if got := mustRead(t, r, idColumn(), nil, end); len(got) != 2 {
		t.Fatalf("rows %s", got)
	}
	if again := discover(t, r, end); !again.Equal(end) {
		t.Fatalf("without new rows, the end moved from %s to %s", end, again)
	}
}

// Rows that are appended by others are read like ours; compaction changes nothing;
// a new column that may be null is passed over. Limits cut by bytes.
func TestStreamBesideOthers(t *testing.T) {
	t.Parallel()
	s := threeVersions(t)
	dir := s.Path("t")
	wider := append(fields("id", schemas.Int64), schemas.Field{ID: 2, Name: "extra", Type: schemas.Type{Kind: schemas.String, Optional: true}})
	r := openReader(t, s, idColumn())
	first := discover(t, r, nil)
	change(t, dir, addColumn("extra", "string", true))
	root := parquet.Group{"id": parquet.Optional(parquet.Int(64)), "extra": parquet.Optional(parquet.String())}
	addFile(t, dir, "other.parquet", writeParquet(t, root, []parquet.Row{{
		parquet.ByteArrayValue([]byte("x")).Level(0, 1, 0), parquet.Int64Value(4).Level(0, 1, 1),
	}}))
	files := dataFiles(t, dir)
	writeText(t, commitPath(dir, newestVersion(t, dir)+1), fmt.Sprintf(`{"remove":{"path":%q,"dataChange":false}}
{"add":{"path":"gone.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":false}}`, filepath.Base(files[1])))
	end := discover(t, r, first)
	if diff := cmp.Diff([]string{`{"id":4}`}, mustRead(t, r, idColumn(), first, end)); diff != "" {
		t.Fatal(diff)
	}
	w := openReader(t, sameStore(t, s.dir), wider)
	want := []string{`{"id":1,"extra":null}`, `{"id":2,"extra":null}`, `{"id":3,"extra":null}`, `{"id":4,"extra":"x"}`}
	if diff := cmp.Diff(want, mustRead(t, w, wider, nil, discover(t, w, nil))); diff != "" {
		t.Fatal(diff)
	}
	cut, err := w.Cut(context.Background(), nil, end, stream.Limits{Bytes: 1})
	if err != nil || len(mustRead(t, w, wider, nil, cut)) != 1 {
		t.Fatalf("one byte cuts at %s, %v", cut, err)
	}
}

// A stream of a table whose log begins with a log checkpoint, here one of the
// deltalake package, begins with its content.
func TestStreamFromALogCheckpoint(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	if err := os.CopyFS(s.Path("t"), os.DirFS("testdata/deltalake/compacted")); err != nil {
		t.Fatal(err)
	}
	columns := fields("name", schemas.String, "id", schemas.Int64)
	r := openReader(t, s, columns)
	end := discover(t, r, nil)
	want := []string{
		`{"name":"a0","id":0}`, `{"name":null,"id":1}`, `{"name":"a1","id":2}`, `{"name":null,"id":3}`, `{"name":"a2","id":4}`, `{"name":null,"id":5}`,
		`{"name":"z","id":10}`,
	}
	var at stream.Position
	var got []string
	for !at.Equal(end) {
		to, err := r.Cut(context.Background(), at, end, stream.Limits{Rows: 4})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, mustRead(t, r, columns, at, to)...)
		r, at = openReader(t, s, columns), to
	}
	if diff := cmp.Diff(want, sortedByID(got)); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(string(end), `"snapshot":3,"version":5`) {
		t.Fatalf("the end is %s", end)
	}
	// The log checkpoint is needed until the stream has passed it.
	if err := os.Remove(filepath.Join(s.Path("t"), logFolder, "00000000000000000003.checkpoint.parquet")); err != nil {
		t.Fatal(err)
	}
	_, err := s.OpenReader(context.Background(), stream.TableSpec{Name: "t", Columns: columns})
	if err == nil || !strings.Contains(err.Error(), "it begins at version 3, and there is no log checkpoint") {
		t.Fatal(err)
	}
}

// sortedByID sorts rows of the form {"name":…,"id":…}: compaction moves rows.
func sortedByID(rows []string) []string {
	byID := map[int]string{}
	for _, row := range rows {
		var id int
		if _, err := fmt.Sscanf(row[strings.Index(row, `"id":`):], `"id":%d}`, &id); err != nil {
			panic(err)
		}
		byID[id] += row
	}
	var sorted []string
	for id := range 20 {
		if row, ok := byID[id]; ok {
			sorted = append(sorted, row)
		}
	}
	return sorted
}

// What is no append, and a log that is not what it was, is refused with what is
// wrong and what to do. B-36
func TestStreamRefuses(t *testing.T) {
	t.Parallel()
	commit := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { writeText(t, commitPath(dir, 4), text) }
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   []string
	}{
		{"rows removed", commit(`{"remove":{"path":"a.parquet","dataChange":true}}`), []string{"version 4 removes the file a.parquet", "no append", "fresh checkpoint"}},
		{"says nothing of a change", commit(`{"remove":{"path":"a.parquet"}}`), []string{"version 4 removes the file a.parquet"}},
		{"damaged", commit(`{"add":`), []string{"the log is damaged", "4.json"}},
		{"file missing", commit(`{"add":{"path":"a.parquet","size":3}}`), []string{"a.parquet of version 4", "no such file"}},
		{"deletion vector", commit(`{"add":{"path":"a.parquet","size":3,"deletionVector":{"storageType":"u"}}}`), []string{"a.parquet of version 4", "deletion vector"}},
		{"type changed", func(t *testing.T, dir string) {
			change(t, dir, func(_ *protocol, m *tableMeta) { m.SchemaString = strings.Replace(m.SchemaString, "long", "string", 1) })
		}, []string{"version 4 changed the columns", "column id is string in the table and long in the row type"}},
		{"column gone", func(t *testing.T, dir string) {
			change(t, dir, func(_ *protocol, m *tableMeta) { m.SchemaString = strings.Replace(m.SchemaString, `"id"`, `"od"`, 1) })
		}, []string{"version 4 changed the columns", "column id (long) is not in the table"}},
		{"reader feature", func(t *testing.T, dir string) {
			change(t, dir, versions(3, 7, "deletionVectors"))
		}, []string{"version 4", "reader feature deletionVectors"}},
		{"another id", func(t *testing.T, dir string) {
			change(t, dir, func(_ *protocol, m *tableMeta) { m.ID = "other" })
		}, []string{"another one (id other)"}},
		{"set back", func(t *testing.T, dir string) { remove(t, commitPath(dir, 3)) }, []string{"3.json is not what it was"}},
		{"gone", func(t *testing.T, dir string) { removeAll(t, dir) }, []string{"3.json is not what it was"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := threeVersions(t)
			r := openReader(t, s, idColumn())
			at := discover(t, r, nil)
			test.damage(t, s.Path("t"))
			end, _, err := r.Discover(context.Background(), at, false)
			if err == nil {
				_, err = readAll(r, idColumn(), at, end)
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t: ") {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// A position is compared with the table that a new process finds.
func TestPositionsOfAnotherTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(t *testing.T, s *Store)
		want   []string
	}{
		{"table gone", func(t *testing.T, s *Store) { removeAll(t, s.Path("t")) }, []string{"is gone", "version 4"}},
		{"set back", func(t *testing.T, s *Store) {
			remove(t, commitPath(s.Path("t"), 3))
			remove(t, commitPath(s.Path("t"), 2))
		},
			[]string{"goes on at version 4", "newest version", " is 1"}},
		{"made anew", func(t *testing.T, s *Store) {
			removeAll(t, s.Path("t"))
			openTable(t, sameStore(t, s.dir), "t", unit("c", "f"), idColumn())
		}, []string{"is another one"}},
		{"cleaned up", func(t *testing.T, s *Store) {
			removeAll(t, s.Path("t"))
			if err := os.CopyFS(s.Path("t"), os.DirFS("testdata/deltalake/compacted")); err != nil {
				t.Fatal(err)
			}
			const id = "161a36cd-677f-4822-ae19-aacea4d56415"
			r := openReader(t, s, idColumn())
			_, _, err := r.Discover(context.Background(), stream.Position(`{"table":"`+id+`","version":1,"file":0}`), false)
			if err == nil || !strings.Contains(err.Error(), "not in the form") {
				t.Error(err)
			}
			_, _, err = r.Discover(context.Background(), stream.Position(`{"table":"`+id+`","version":1}`), false)
			if err == nil || !strings.Contains(err.Error(), "goes on at version 1, and the oldest version in the log") || !strings.Contains(err.Error(), "is 3") {
				t.Error(err)
			}
		}, []string{"is another one"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := threeVersions(t)
			at := discover(t, openReader(t, s, idColumn()), nil)
			test.damage(t, s)
			_, _, err := openReader(t, sameStore(t, s.dir), idColumn()).Discover(context.Background(), at, false)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

// Rows are read as a type with columns of the table, or not at all.
func TestStreamAsAnotherType(t *testing.T) {
	t.Parallel()
	s := threeVersions(t)
	for _, test := range []struct {
		columns []schemas.Field
		want    string
	}{
		{fields("id", schemas.String), "column id is long in the table and string in the row type"},
		{fields("id", schemas.Int64, "more", schemas.Int8), "column more (byte) is not in the table"},
		{fields("id", schemas.Int64, "more", schemas.Type{Kind: schemas.Int8, Optional: true}), ""},
	} {
		_, err := s.OpenReader(context.Background(), stream.TableSpec{Name: "t", Columns: test.columns})
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
}

// Values of other writers that a row type cannot hold are malformed rows, with
// their place.
func TestStreamOfMalformedRows(t *testing.T) {
	t.Parallel()
	columns := fields("u", schemas.Uint8, "big", schemas.Uint64)
	root := parquet.Group{"u": parquet.Optional(parquet.Int(16)), "big": parquet.Optional(parquet.Decimal(0, 20, parquet.FixedLenByteArrayType(9)))}
	big := func(b byte) parquet.Value {
		return parquet.FixedLenByteArrayValue(append(make([]byte, 8), b)).Level(0, 1, 0)
	}
	for _, test := range []struct {
		row  parquet.Row
		want string
	}{
		{parquet.Row{big(1), parquet.Int32Value(-5).Level(0, 1, 1)}, "column u: -5 does not fit an unsigned integer of 8 bits"},
		{parquet.Row{big(1), parquet.Int32Value(300).Level(0, 1, 1)}, "column u: 300 does not fit an unsigned integer of 8 bits"},
		{parquet.Row{big(1), parquet.NullValue().Level(0, 0, 1)}, "column u is null, which the row type has no value for"},
		{parquet.Row{parquet.FixedLenByteArrayValue([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff")).Level(0, 1, 0), parquet.Int32Value(1).Level(0, 1, 1)},
			"column big: -1 does not fit an unsigned integer of 64 bits"},
	} {
		s := testStore(t)
		openTable(t, s, "t", unit("c", "f"), columns)
		good := parquet.Row{big(1), parquet.Int32Value(1).Level(0, 1, 1)}
		addFile(t, s.Path("t"), "a.parquet", writeParquet(t, root, []parquet.Row{good, test.row}))
		r := openReader(t, s, columns)
		_, err := r.Read(context.Background(), nil, discover(t, r, nil), func(row stream.RowReader) error {
			row.Uint(8)
			row.Uint(64)
			return row.EndRow()
		})
		var malformed *stream.MalformedError
		if !errors.As(err, &malformed) || malformed.Err.Error()[:len(test.want)] != test.want || !strings.HasSuffix(malformed.Where, "a.parquet, row 2") {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
}

// A file whose bytes were changed is refused by its checksum.
func TestStreamOfDamagedFile(t *testing.T) {
	t.Parallel()
	s := threeVersions(t)
	r := openReader(t, s, idColumn())
	end := discover(t, r, nil)
	path := dataFiles(t, s.Path("t"))[1]
	text := readText(t, path)
	writeText(t, path, text[:40]+string(text[40]^1)+text[41:])
	_, err := readAll(r, idColumn(), nil, end)
	if err == nil || !strings.Contains(err.Error(), filepath.Base(path)+" of version 2: the file is damaged") {
		t.Fatal(err)
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, seed := range []string{
		`{"table":"a","version":12,"file":1,"row":4096}`, `{"table":"a","snapshot":3,"version":3}`, `{"table":"a","version":-1}`,
		`{"table":"a","snapshot":3,"version":2}`, `{}`, `null`, `{"table":"a","version":1}{}`, `{"table":"a","version":1,"file":0}`, ``, `[`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parsePlace(stream.Position(text))
		if err != nil {
			return
		}
		if got := at.position(); string(got) != text || at.Table == "" || at.before(at.start()) || !at.before(at.nextVersion()) {
			t.Fatalf("%q is the place %+v, which is written %s", text, at, got)
		}
	})
}
