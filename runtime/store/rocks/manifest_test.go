package rocks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/zeebo/xxh3"
)

// seal replaces a description's last line by one with the right checksum.
func seal(text string) string {
	body := text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	return fmt.Sprintf("%sxxh3 %016x\n", body, xxh3.HashString(body))
}

// The format is for ever: change the layout's version with it.
func TestManifestGolden(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]manifest{
		"tws rocks store 1\nrocksdb 11.1.2\nmark 17 3\nxxh3 05d63ac87fedf3bb\n": {rocksdb: "11.1.2", mark: store.Mark{Epoch: 17, Attempt: 3}, marked: true},
		"tws rocks store 1\nrocksdb 11.1.2\nmark none\nxxh3 4572d36053ba0538\n": {rocksdb: "11.1.2"},
	} {
		if got := string(m.encode()); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if got, err := decodeManifest([]byte(want)); got != m || err != nil {
			t.Errorf("%q: %+v, %v", want, got, err)
		}
	}
}

func TestBadManifest(t *testing.T) {
	t.Parallel()
	good := string(manifest{rocksdb: "11.1.2", mark: store.Mark{Epoch: 17, Attempt: 3}, marked: true}.encode())
	for i := range good {
		for _, data := range []string{good[:i], good[:i] + "#" + good[i+1:]} {
			if m, err := decodeManifest([]byte(data)); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%q: %+v, %v, want ErrCorrupt", data, m, err)
			}
		}
	}
	for _, change := range [][2]string{
		{"store 1", "store 0"}, {"store 1", "store x"}, {"tws", "tw"}, {"mark 17 3", "mark 17"}, {"mark 17 3", "mark 17 3 4"},
		{"mark 17 3", "mark"}, {"mark 17 3", "mark +17 3"}, {"mark 17 3\n", "mark 17 3\nmore\n"}, {"rocksdb 11.1.2\n", ""},
	} {
		data := seal(strings.Replace(good, change[0], change[1], 1))
		if m, err := decodeManifest([]byte(data)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%q: %+v, %v, want ErrCorrupt", data, m, err)
		}
	}
}

func TestManifestVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wrote, linked string
		ok            bool
	}{
		{"11.1.2", "11.1.2", true}, {"11.1.9", "11.1.2", true}, {"10.9.0", "11.1.2", true}, {"11.0", "11.1.2", true},
		{"11.2.0", "11.1.2", false}, {"12.0.0", "11.1.2", false}, {"11", "11.1.2", false}, {"", "11.1.2", false}, {"a.b", "11.1.2", false},
		{"11.1.2", "", false},
	} {
		if err := (manifest{rocksdb: test.wrote}).checkVersion(test.linked); (err == nil) != test.ok {
			t.Errorf("written by %q, read by %q: %v", test.wrote, test.linked, err)
		}
	}
}

func TestManifestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := readManifest(dir); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Join(dir, manifestName)) {
		t.Errorf("missing: %v", err)
	}
	// What a crash left does not matter.
	if err := os.WriteFile(filepath.Join(dir, ".tmp-"+manifestName), []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	for epoch := range int64(3) {
		m := manifest{rocksdb: "11.1.2", mark: store.Mark{Epoch: epoch}, marked: true}
		if err := m.write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := readManifest(dir); got != m || err != nil {
			t.Errorf("got %+v, %v, want %+v", got, err, m)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v, want the one file", entries, err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(string(manifest{rocksdb: "11.1.2"}.encode()))
	f.Add(string(manifest{rocksdb: "11.1.2", mark: store.Mark{Epoch: 17, Attempt: 3}, marked: true}.encode()))
	f.Fuzz(func(t *testing.T, text string) {
		for _, data := range []string{text, seal(text)} {
			if m, err := decodeManifest([]byte(data)); err == nil && string(m.encode()) != data {
				t.Errorf("%q was read as %+v, which is written %q", data, m, m.encode())
			}
		}
	})
}
