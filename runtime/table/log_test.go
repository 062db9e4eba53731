package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// threeVersions makes a table with versions 0 to 3 and returns its store.
func threeVersions(t *testing.T) *Store {
	t.Helper()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), fields("id", schemas.Int64))
	var prior stream.Staged
	for epoch := int64(1); epoch <= 3; epoch++ {
		staged := stage(t, ts, stream.Attempt{Epoch: epoch, Prior: prior.State}, []any{epoch})
		publish(t, ts, epoch, staged)
		prior = staged
	}
	return s
}

// everyWayIn returns the errors of all ways to read a log.
func everyWayIn(t *testing.T, dir string) map[string]error {
	t.Helper()
	_, describe := Describe(dir)
	_, open := sameStore(t, filepath.Dir(dir)).Open(context.Background(),
		stream.TableSpec{Name: filepath.Base(dir), Columns: fields("id", schemas.Int64)}, unit("c", "f"))
	return map[string]error{
		"ReadRows": ReadRows(context.Background(), dir, func([]byte) error { return nil }),
		"Describe": describe,
		"Open":     open,
	}
}

// B-36
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		version int64
		damage  func(text string) string // "-" removes the file
		want    string
	}{
		{"newest empty", 3, func(string) string { return "" }, "the file holds no actions"},
		{"older empty", 1, func(string) string { return "" }, "the file holds no actions"},
		{"blank", 2, func(string) string { return "\n \n" }, "the file holds no actions"},
		{"newest torn", 3, func(s string) string { return s[:len(s)/2] }, "line"},
		{"older torn", 1, func(s string) string { return s[:len(s)-3] }, "line 3: unexpected end"},
		{"zeros", 3, func(s string) string { return strings.Repeat("\x00", len(s)) }, "line 1: invalid character"},
		{"bit flip", 2, func(s string) string { return strings.Replace(s, `"txn"`, `"txn`+"\x02", 1) }, "line 2: invalid character"},
		{"not an object", 1, func(string) string { return "[]" }, "line 1"},
		{"two on a line", 1, func(s string) string { return strings.ReplaceAll(s, "\n", "") }, "line 1: invalid character"},
		{"two actions", 1, func(string) string { return `{"txn":{"appId":"a","version":1},"add":{"path":"x"}}` }, "must hold one action, and this holds 2"},
		{"no action", 1, func(string) string { return "{}" }, "this holds 0"},
		{"null action", 1, func(string) string { return `{"add":null}` }, "add: the action is null"},
		{"no path", 1, func(string) string { return `{"add":{"size":1}}` }, "add: the path is missing"},
		{"no removed path", 1, func(string) string { return `{"remove":{}}` }, "remove: the path is missing"},
		{"no appId", 1, func(string) string { return `{"txn":{"version":1}}` }, "txn: the appId is missing"},
		{"text for number", 1, func(string) string { return `{"txn":{"appId":"a","version":"1"}}` }, "txn: json"},
		{"no schema", 1, func(string) string { return `{"metaData":{"id":"a"}}` }, "metaData: the schemaString is missing"},
		{"bad schema", 1, func(string) string { return `{"metaData":{"schemaString":"{"}}` }, "schemaString: unexpected end"},
		{"no protocol versions", 1, func(string) string { return `{"protocol":{}}` }, "protocol: the versions are missing"},
		{"first without protocol", 0, func(s string) string { return strings.Replace(s, `"protocol"`, `"other"`, 1) }, "must hold a protocol and a metaData action"},
		{"first without metaData", 0, func(s string) string { return strings.Replace(s, `"metaData"`, `"other"`, 1) }, "must hold a protocol and a metaData action"},
		{"first gone", 0, func(string) string { return "-" }, "is missing, and there is a version 3"},
		{"middle gone", 2, func(string) string { return "-" }, "is missing, and there is a version 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := threeVersions(t)
			path := commitPath(s.Path("t"), test.version)
			damaged := test.damage(readText(t, path))
			if damaged == "-" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				writeText(t, path, damaged)
			}
			for way, err := range everyWayIn(t, s.Path("t")) {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v, want %q and %s", way, err, test.want, path)
				}
			}
		})
	}
}

// A commit that was damaged behind the back of an open table stops Publish, and
// does not stop it for good.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	ts := openTable(t, s, "t", unit("c", "f"), fields("id", schemas.Int64))
	staged := stage(t, ts, stream.Attempt{Epoch: 1}, []any{int64(1)})
	path := commitPath(s.Path("t"), 1)
	writeText(t, path, `{"txn":`)
	err := ts.Publish(context.Background(), publicationOf(1, staged))
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("Publish: %v", err)
	}
	writeText(t, path, `{"commitInfo":"of another writer"}`+"\n")
	publish(t, ts, 1, staged)
	if got := len(rowsOf(t, s.Path("t"))); got != 1 {
		t.Fatalf("%d rows", got)
	}
}

// A log that was replaced while it was open is noticed, not continued.
func TestReplacedTable(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, dir string){
		"deleted": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, logFolder)); err != nil {
				t.Fatal(err)
			}
		},
		"set back": func(t *testing.T, dir string) {
			if err := os.Remove(commitPath(dir, 1)); err != nil {
				t.Fatal(err)
			}
		},
		"another": func(t *testing.T, dir string) {
			writeText(t, commitPath(dir, 1), `{"txn":{"appId":"other","version":1}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			ts := openTable(t, s, "t", unit("c", "f"), fields("id", schemas.Int64))
			first := stage(t, ts, stream.Attempt{Epoch: 1}, []any{int64(1)})
			publish(t, ts, 1, first)
			second := stage(t, ts, stream.Attempt{Epoch: 2, Prior: first.State}, []any{int64(2)})
			replace(t, s.Path("t"))
			err := ts.Publish(context.Background(), publicationOf(2, second))
			if err == nil || !strings.Contains(err.Error(), "deleted or replaced") {
				t.Fatalf("Publish: %v", err)
			}
			// Read anew, the table is not where the epoch must be.
			err = ts.Publish(context.Background(), publicationOf(2, second))
			var moved *stream.SinkMovedError
			if !errors.As(err, &moved) && !errors.Is(err, errNoTable) {
				t.Fatalf("Publish again: %v", err)
			}
			if _, err := os.Stat(commitPath(s.Path("t"), 2)); err == nil {
				t.Fatal("a version was appended all the same")
			}
		})
	}
}

// What other writers put beside the commits is no concern of ours, as long as
// the commits are all there.
func TestLogCheckpoints(t *testing.T) {
	t.Parallel()
	s := threeVersions(t)
	dir := s.Path("t")
	for _, name := range []string{
		"_last_checkpoint", "00000000000000000002.checkpoint.parquet", "00000000000000000001.crc", ".tmp-0123",
		"00000000000000000000.00000000000000000002.compacted.json", "_staged_commits/x.json", "99999999999999999999.json",
	} {
		writeText(t, filepath.Join(dir, logFolder, name), "not read")
	}
	for way, err := range everyWayIn(t, dir) {
		if err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
	for v := range int64(2) {
		if err := os.Remove(commitPath(dir, v)); err != nil {
			t.Fatal(err)
		}
	}
	for way, err := range everyWayIn(t, dir) {
		if err == nil || !strings.Contains(err.Error(), "is in a log checkpoint (") {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// Actions, fields and whole commits that we know nothing about are passed over,
// as the protocol asks.
func TestUnknownActions(t *testing.T) {
	t.Parallel()
	s := threeVersions(t)
	dir := s.Path("t")
	writeText(t, commitPath(dir, 4), `{"commitInfo":{"engineInfo":7,"tws":"x"}}
{"domainMetadata":{"domain":"d","configuration":"","removed":false}}

{"somethingNew":{"a":[1,2]}}
{"txn":{"appId":"other","version":-5,"new":true}}`)
	info, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Version != 4 || info.Rows != 3 || info.Txns["other"] != -5 || info.Txns["tws/c/f/0"] != 3 {
		t.Fatalf("info is %+v", info)
	}
}

// Files are those added last and not removed since.
func TestRemovedFiles(t *testing.T) {
	t.Parallel()
	s := threeVersions(t)
	dir := s.Path("t")
	state, err := openLog(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	all := state.content()
	first, second := all[0].addAction, all[1].addAction
	again, err := json.Marshal(action{Add: &first})
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, commitPath(dir, 4), `{"remove":{"path":"`+second.Path+`"}}`+"\n"+string(again)+"\n")
	if got := strings.Join(rowsOf(t, dir), " "); got != `{"id":3} {"id":1}` {
		t.Fatalf("rows are %s", got)
	}
	info, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Files != 2 || info.Rows != 2 || info.Bytes != all[0].Size+all[2].Size {
		t.Fatalf("info is %+v", info)
	}
}

func TestNoTable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "t")
	if _, err := Describe(dir); !errors.Is(err, errNoTable) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Describe: %v", err)
	}
	if err := ReadRows(context.Background(), dir, nil); !errors.Is(err, errNoTable) {
		t.Fatalf("ReadRows: %v", err)
	}
}

func FuzzDecodeActions(f *testing.F) {
	f.Add([]byte(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n"))
	f.Add([]byte(`{"commitInfo":{"engineInfo":"tws","tws":[{"appId":"a","epoch":1}]}}`))
	f.Add([]byte(`{"add":{"path":"a","stats":"{}"}}` + "\n" + `{"remove":{"path":"a"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		actions, err := decodeActions(data)
		if err != nil {
			return
		}
		known := slices.DeleteFunc(actions, func(a action) bool { return a == action{} })
		text, err := encodeActions(known)
		if err != nil {
			t.Fatal(err)
		}
		if len(known) == 0 {
			return
		}
		again, err := decodeActions(text)
		if err != nil {
			t.Fatalf("%v: what was read cannot be read again:\n%s", err, text)
		}
		if second, err := encodeActions(again); err != nil || !bytes.Equal(text, second) {
			t.Fatalf("%v: it changes from reading to reading:\n%s\n%s", err, text, second)
		}
	})
}

func FuzzParseSchema(f *testing.F) {
	f.Add(`{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}`)
	f.Add(`{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"long","containsNull":true},"nullable":true,"metadata":{"tws.type":"array<duration>"}}]}`)
	f.Add(`{"type":"struct","fields":[{"name":"a","type":{"type":"map","keyType":"long","valueType":"long"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		row, err := parseSchema(text)
		if err != nil {
			return
		}
		if row.leaves < 1 || len(row.leafColumns()) != row.leaves {
			t.Fatalf("%d leaves", row.leaves)
		}
		for i, leaf := range row.leafColumns() {
			if leaf.firstLeaf != i || int(leaf.def) > 3*maxDepth || leaf.rep > leaf.def {
				t.Fatalf("leaf %d is laid out wrong: %+v", i, leaf)
			}
		}
	})
}
