package table

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// change appends a version with another metaData or protocol, as another writer
// would.
func change(t *testing.T, dir string, edit func(*protocol, *tableMeta)) {
	t.Helper()
	s, err := openLog(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	p, m := *s.protocol, *s.meta
	m.Configuration = maps.Clone(m.Configuration)
	edit(&p, &m)
	text, err := encodeActions([]action{{Protocol: &p}, {MetaData: &m}})
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, commitPath(dir, s.version+1), string(text))
}

// property returns a change that sets a table property.
func property(key, value string) func(*protocol, *tableMeta) {
	return func(_ *protocol, m *tableMeta) { m.Configuration[key] = value }
}

// columnMetadata returns a change that sets metadata of column id.
func columnMetadata(key string) func(*protocol, *tableMeta) {
	return func(_ *protocol, m *tableMeta) {
		m.SchemaString = strings.Replace(m.SchemaString, `"metadata":{}`, `"metadata":{"`+key+`":"x"}`, 1)
	}
}

func versions(reader, writer int, features ...string) func(*protocol, *tableMeta) {
	return func(p *protocol, _ *tableMeta) {
		p.MinReaderVersion, p.MinWriterVersion = reader, writer
		if reader == 3 {
			p.ReaderFeatures = features
		}
		if writer == 7 {
			p.WriterFeatures = features
		}
	}
}

// Tables that ask more than we do are refused by the name of what they ask: at
// Open, and by Publish when it comes to be while the table is open.
func TestUnsupportedTables(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		change   func(*protocol, *tableMeta)
		want     string
		readable bool
	}{
		{"reader version 2", versions(2, 5), "reader version 2 (column mapping)", false},
		{"reader feature", versions(3, 7, "deletionVectors", "columnMapping"), "the reader feature columnMapping, deletionVectors", false},
		{"reader version 4", versions(4, 7), "reader version 4; this build knows 1", false},
		{"writer version 3", versions(1, 3), "writer version 3 (check constraints)", true},
		{"writer version 4", versions(1, 4), "writer version 4 (change data feed and generated columns)", true},
		{"writer version 5", versions(1, 5), "writer version 5 (column mapping)", true},
		{"writer version 6", versions(1, 6), "writer version 6 (identity columns)", true},
		{"writer version 8", versions(1, 8), "writer version 8; this build knows 2", true},
		{"writer feature", versions(1, 7, "rowTracking", "appendOnly"), "the writer feature rowTracking,", true},
		{"partitions", func(_ *protocol, m *tableMeta) { m.PartitionColumns = []string{"id"} }, "partitioned by id", false},
		{"provider", func(_ *protocol, m *tableMeta) { m.Format.Provider = "orc" }, `the table's files are "orc"`, false},
		{"column mapping", property("delta.columnMapping.mode", "name"), "delta.columnMapping.mode = name", false},
		{"retention of transactions", property("delta.setTransactionRetentionDuration", "interval 7 days"), "delta.setTransactionRetentionDuration = interval 7 days", true},
		{"constraint", property("delta.constraints.positive", "id > 0"), "the constraint positive", true},
		{"change data feed", property("delta.enableChangeDataFeed", "true"), "delta.enableChangeDataFeed = true", true},
		{"deletion vectors", property("delta.enableDeletionVectors", "TRUE"), "delta.enableDeletionVectors = TRUE", true},
		{"row tracking", property("delta.enableRowTracking", "true"), "delta.enableRowTracking = true", true},
		{"in-commit timestamps", property("delta.enableInCommitTimestamps", "true"), "delta.enableInCommitTimestamps = true", true},
		{"iceberg", property("delta.enableIcebergCompatV2", "true"), "delta.enableIcebergCompatV2 = true", true},
		{"invariant", columnMetadata("delta.invariants"), "column id has an invariant (delta.invariants)", true},
		{"generated column", columnMetadata("delta.generationExpression"), "column id has a generation expression", true},
		{"default", columnMetadata("CURRENT_DEFAULT"), "column id has a default value", true},
		{"identity", columnMetadata("delta.identity.start"), "column id has identity values", true},
		{"mapped column", columnMetadata("delta.columnMapping.id"), "column id has a column mapping", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			ts := openTable(t, s, "t", unit("c", "f"), fields("id", schemas.Int64))
			staged := stage(t, ts, stream.Attempt{Epoch: 1}, []any{int64(1)})
			change(t, s.Path("t"), test.change)
			ways := everyWayIn(t, s.Path("t"))
			ways["Publish"] = ts.Publish(context.Background(), publicationOf(1, staged))
			if !errors.Is(ways["Publish"], ErrUnpublished) {
				t.Errorf("Publish: %v, want ErrUnpublished", ways["Publish"])
			}
			for way, err := range ways {
				if test.readable && (way == "ReadRows" || way == "Describe") {
					if err != nil {
						t.Errorf("%s: %v", way, err)
					}
				} else if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v, want %q", way, err, test.want)
				} else if way == "Open" && !errors.Is(err, ErrMismatch) {
					t.Errorf("Open: %v, want ErrMismatch", err)
				}
			}
		})
	}
}

// Tables that say more but ask no more are written.
func TestSupportedTables(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*protocol, *tableMeta){
		"writer version 1":     versions(1, 1),
		"features without use": versions(3, 7),
		"appendOnly":           versions(1, 7, "appendOnly", "invariants"),
		"append only":          property("delta.appendOnly", "true"),
		"switched off":         property("delta.enableDeletionVectors", "false"),
		"no mapping":           property("delta.columnMapping.mode", "none"),
		"of the user":          property("owner", "me"),
		"retention of files":   property("delta.deletedFileRetentionDuration", "interval 1 day"),
		"a comment":            columnMetadata("comment"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			ts := openTable(t, s, "t", unit("c", "f"), fields("id", schemas.Int64))
			staged := stage(t, ts, stream.Attempt{Epoch: 1}, []any{int64(1)})
			if name == "features without use" {
				change(t, s.Path("t"), func(p *protocol, m *tableMeta) { edit(p, m); p.ReaderFeatures = nil })
			} else {
				change(t, s.Path("t"), edit)
			}
			publish(t, ts, 1, staged)
			openTable(t, sameStore(t, s.dir), "t", unit("c", "f"), fields("id", schemas.Int64))
			if got := len(rowsOf(t, s.Path("t"))); got != 1 {
				t.Fatalf("%d rows", got)
			}
		})
	}
}

// addColumn returns a change that appends a column to the schema.
func addColumn(name, typ string, nullable bool) func(*protocol, *tableMeta) {
	return func(_ *protocol, m *tableMeta) {
		var schema map[string]any
		if err := json.Unmarshal([]byte(m.SchemaString), &schema); err != nil {
			panic(err)
		}
		schema["fields"] = append(schema["fields"].([]any),
			map[string]any{"name": name, "type": typ, "nullable": nullable, "metadata": map[string]any{}})
		text, err := json.Marshal(schema)
		if err != nil {
			panic(err)
		}
		m.SchemaString = string(text)
	}
}

// Other writers' changes of the columns: nullable additions go on, now and after
// a restart, anything else stops the epoch without loss.
func TestColumnsChangedByOthers(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func(*protocol, *tableMeta) {
		return func(_ *protocol, m *tableMeta) {
			if !strings.Contains(m.SchemaString, old) {
				panic("nothing to replace")
			}
			m.SchemaString = strings.Replace(m.SchemaString, old, new, 1)
		}
	}
	tests := []struct {
		name   string
		change func(*protocol, *tableMeta)
		want   string // "" goes on
	}{
		{"nullable addition", addColumn("extra", "string", true), ""},
		{"nullable addition of an unknown type", addColumn("extra", "date", true), ""},
		{"nested nullable addition", replace(`[{"name":"x"`, `[{"name":"y","type":"long","nullable":true,"metadata":{}},{"name":"x"`), ""},
		{"another comment", func(_ *protocol, m *tableMeta) { m.Description = "new" }, ""},
		{"addition without null", addColumn("extra", "string", false), "column extra (string) of the table is not in the row type"},
		{"another type", replace(`"long"`, `"string"`), "column id is string in the table and long in the row type"},
		{"another name", replace(`"name":"id"`, `"name":"key"`), "column id (long) is not in the table"},
		{"no nulls", replace(`"type":"long","nullable":true`, `"type":"long","nullable":false`), "column id accepts no nulls in the table"},
	}
	columns := fields("id", schemas.Int64, "s", structOf("S", fields("x", schemas.Bool)))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			ts := openTable(t, s, "t", unit("c", "f"), columns)
			staged := stage(t, ts, stream.Attempt{Epoch: 1}, []any{int64(1), structure{true}})
			change(t, s.Path("t"), test.change)
			err := ts.Publish(context.Background(), publicationOf(1, staged))
			_, openErr := sameStore(t, s.dir).Open(context.Background(), stream.TableSpec{Name: "t", Columns: columns}, unit("c", "f"))
			if test.want == "" {
				if err != nil || openErr != nil {
					t.Fatalf("Publish: %v, Open: %v", err, openErr)
				}
				return
			}
			if !errors.Is(err, ErrUnpublished) || !strings.HasPrefix(err.Error(), "table: version 1 changed its columns: "+test.want) {
				t.Fatalf("Publish: %v, want %q", err, test.want)
			}
			if openErr == nil || !strings.Contains(openErr.Error(), test.want) {
				t.Fatalf("Open: %v, want %q", openErr, test.want)
			}
			// Changed back, the same epoch is published.
			change(t, s.Path("t"), func(_ *protocol, m *tableMeta) {
				first, err := decodeActions([]byte(readText(t, commitPath(s.Path("t"), 0))))
				if err != nil {
					t.Fatal(err)
				}
				m.SchemaString = first[2].MetaData.SchemaString
			})
			publish(t, ts, 1, staged)
			if got := rowsOf(t, s.Path("t")); len(got) != 1 || got[0] != `{"id":1,"s":{"x":true}}` {
				t.Fatalf("rows are %s", got)
			}
		})
	}
}

// A column that the row type has lost is refused at Open: it is no addition of
// another writer.
func TestOpenWithOtherColumns(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	openTable(t, s, "t", unit("c", "f"), fields("a", schemas.Int64, "b", schemas.String, "c", schemas.Bool))
	_, err := sameStore(t, s.dir).Open(context.Background(),
		stream.TableSpec{Name: "t", Columns: fields("a", schemas.Bytes, "c", schemas.Bool, "d", schemas.Duration)}, unit("c", "f"))
	if !errors.Is(err, ErrMismatch) {
		t.Fatalf("Open: %v, want ErrMismatch", err)
	}
	want := "table: open t: the table's columns are not the row type's: column a is long in the table and binary in the row type; " +
		"column d (long (duration)) is not in the table; column b (string) of the table is not in the row type: " +
		"a table's columns cannot be changed yet: take the change back, or write to a table of another name"
	if err.Error() != want {
		t.Fatalf("Open: %v\nwant %s", err, want)
	}
}

func TestOpenNames(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	columns := fields("a", schemas.Int64)
	for _, name := range []string{"", "a/b", `a\b`, ".hidden", "_delta_log", "..", "a\x00"} {
		if _, err := s.Open(context.Background(), stream.TableSpec{Name: name, Columns: columns}, unit("c", "f")); err == nil {
			t.Errorf("Open accepted the name %q", name)
		}
	}
	for _, u := range []stream.Unit{{}, {Checkpoint: "c"}, {Flow: "f"}} {
		if _, err := s.Open(context.Background(), stream.TableSpec{Name: "t", Columns: columns}, u); err == nil {
			t.Errorf("Open accepted the unit %q", u)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Open(ctx, stream.TableSpec{Name: "t", Columns: columns}, unit("c", "f")); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with an ended context: %v", err)
	}
}
