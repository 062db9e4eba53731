package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/gen"
)

// resultIn returns a result with three files, of which two exist, and one that is
// left over.
func resultIn(t *testing.T, dir string) *gen.Result {
	t.Helper()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"tws.lock.json", "a_tws.go", "old_tws.go"} {
		if err := os.WriteFile(path(name), []byte("old "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string, kind gen.Kind, old bool) gen.File {
		f := gen.File{Path: path(name), Kind: kind, Content: []byte("new " + name)}
		if old {
			f.Old = []byte("old " + name)
		}
		return f
	}
	return &gen.Result{
		Files: []gen.File{
			file("tws.lock.json", gen.LockFile, true),
			file("a_tws.go", gen.Generated, true),
			file("cmd/a/main.go", gen.Scaffold, false),
		},
		Removed:  []gen.File{{Path: path("old_tws.go"), Kind: gen.Generated}},
		Packages: 1,
	}
}

// state returns the first word of each file: old, new, or none.
func state(t *testing.T, dir string) string {
	t.Helper()
	var words []string
	for _, name := range []string{"tws.lock.json", "a_tws.go", "cmd/a/main.go", "old_tws.go"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		switch word, rest, _ := strings.Cut(string(content), " "); {
		case errors.Is(err, os.ErrNotExist):
			words = append(words, "none")
		case err != nil:
			t.Fatal(err)
		case rest != name:
			t.Errorf("%s holds %q: torn", name, content)
		default:
			words = append(words, word)
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left over", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(words, " ")
}

// B-95
func TestWriteStopsBetweenFiles(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	// A lock is in place before the file that uses its ids, and what is left over
	// goes last.
	for stop, want := range []string{
		"old old none old",
		"new old none old",
		"new new none old",
		"new new new none",
	} {
		dir := t.TempDir()
		result := resultIn(t, dir)
		calls := 0
		w := writer{rename: func(from, to string) error {
			if calls == stop {
				return broken
			}
			calls++
			return os.Rename(from, to)
		}}
		err := w.write(context.Background(), result)
		if stop < len(result.Files) && (!errors.Is(err, broken) || !strings.Contains(err.Error(), result.Files[stop].Path)) {
			t.Errorf("stop %d: got %v, want the cause and the file", stop, err)
		}
		if got := state(t, dir); got != want {
			t.Errorf("stop %d: %s, want %s", stop, got, want)
		}
		// The next run completes it.
		if err := (writer{rename: os.Rename}).write(context.Background(), result); err != nil {
			t.Errorf("stop %d: next run: %v", stop, err)
		}
		if got, want := state(t, dir), "new new new none"; got != want {
			t.Errorf("stop %d: after the next run %s, want %s", stop, got, want)
		}
	}
}

func TestWriteChangesNothingIfItCannotStage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result := resultIn(t, dir)
	// The last file needs a folder where there is a file.
	if err := os.WriteFile(filepath.Join(dir, "cmd"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := (writer{rename: os.Rename}).write(context.Background(), result)
	if err == nil || !strings.Contains(err.Error(), "main.go") {
		t.Errorf("got %v, want it to name main.go", err)
	}
	if err := os.Remove(filepath.Join(dir, "cmd")); err != nil {
		t.Fatal(err)
	}
	if got, want := state(t, dir), "old old none old"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWriteCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("interrupted"))
	err := (writer{rename: os.Rename}).write(ctx, resultIn(t, dir))
	if err == nil || !strings.Contains(err.Error(), "nothing was written: interrupted") {
		t.Errorf("got %v", err)
	}
	if got, want := state(t, dir), "old old none old"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWriteFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result := resultIn(t, dir)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.go")
	link := result.Files[1].Path
	if err := os.Rename(link, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	if err := (writer{rename: os.Rename}).write(context.Background(), result); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(elsewhere); err != nil || string(got) != "new a_tws.go" {
		t.Errorf("the file behind the link holds %q: %v", got, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestWriteSweepsWhatKilledRunsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result := resultIn(t, dir)
	place := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, info.ModTime().Add(-age), info.ModTime().Add(-age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	killed := place(".a_tws.go.123.tmp", 2*time.Hour)
	kept := []string{
		place(".a_tws.go.456.tmp", time.Minute), // of a run beside this one
		place(".b_tws.go.123.tmp", 2*time.Hour), // of another package's file
		place("a_tws.go.tmp", 2*time.Hour),      // the user's
	}
	if err := (writer{rename: os.Rename}).write(context.Background(), result); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", killed)
	}
	for _, path := range kept {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if got, want := state(t, dir), "new new new none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
