package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// B-36: the write path is temporary file, fsync, exclusive name, directory fsync.
func TestCreate(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "f")
		if err := CreateParts(path, sync, []byte("ab"), nil, []byte("c")); err != nil {
			t.Fatal(err)
		}
		if err := Create(path, []byte("other"), sync); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("second create: %v, want fs.ErrExist", err)
		}
		wantFile(t, path, "abc")
		wantNames(t, filepath.Dir(path), "f")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o600 != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
}

func TestCreateOneWinner(t *testing.T) {
	t.Parallel()
	ways := map[string]publisher{
		"link":   {link: os.Link, rename: renameNoReplace},
		"rename": {link: failWith(syscall.EPERM), rename: renameNoReplace},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f")
			winner := raceToCreate(t, way, path)
			wantFile(t, path, winner)
			wantNames(t, filepath.Dir(path), "f")
		})
	}
}

// raceToCreate lets many goroutines create path and returns what the one that
// won has written.
func raceToCreate(t *testing.T, way publisher, path string) string {
	const racers = 16
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		winner []string
		start  = make(chan struct{})
	)
	for i := range racers {
		wg.Go(func() {
			content := strings.Repeat(fmt.Sprintf("%02d", i), 1<<12)
			<-start
			err := way.create(path, false, [][]byte{[]byte(content)})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				winner = append(winner, content)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Errorf("racer %d: %v", i, err)
			}
		})
	}
	close(start)
	wg.Wait()
	if len(winner) != 1 {
		t.Fatalf("%d winners, want 1", len(winner))
	}
	return winner[0]
}

func TestCreateWithoutLinks(t *testing.T) {
	t.Parallel()
	for _, code := range []syscall.Errno{syscall.EPERM, syscall.ENOTSUP, syscall.EMLINK, syscall.ENOSYS} {
		t.Run(code.Error(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f")
			way := publisher{link: failWith(code), rename: renameNoReplace}
			if err := way.create(path, true, [][]byte{[]byte("x")}); err != nil {
				t.Fatal(err)
			}
			if err := way.create(path, true, [][]byte{[]byte("y")}); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("second create: %v, want fs.ErrExist", err)
			}
			wantFile(t, path, "x")
			wantNames(t, filepath.Dir(path), "f")
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	way := publisher{link: failWith(syscall.EPERM), rename: failWith(syscall.EINVAL)}
	err := way.create(filepath.Join(dir, "f"), true, [][]byte{[]byte("x")})
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "another file system") {
		t.Fatalf("got %v, want ErrUnsupported with a way out", err)
	}
	wantNames(t, dir)
}

func TestCreateReportsOtherErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, way := range map[string]publisher{
		"link":   {link: failWith(syscall.EIO), rename: renameNoReplace},
		"rename": {link: failWith(syscall.EPERM), rename: failWith(syscall.EIO)},
	} {
		err := way.create(filepath.Join(dir, "f"), true, [][]byte{[]byte("x")})
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v, want EIO", name, err)
		}
	}
	wantNames(t, dir)
	if err := Create(filepath.Join(dir, "none", "f"), nil, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: got %v, want fs.ErrNotExist", err)
	}
}

// A network file system may make the link and report that it exists.
func TestCreateLostAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	way := publisher{rename: renameNoReplace, link: func(from, to string) error {
		if err := os.Link(from, to); err != nil {
			return err
		}
		return syscall.EEXIST
	}}
	if err := way.create(path, true, [][]byte{[]byte("x")}); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "x")
}

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "c")
	for range 2 {
		if err := MkdirAll(dir, true); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Fatalf("%v, %v", info, err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(file, true); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("over a file: %v", err)
	}
	if err := MkdirAll(filepath.Join(file, "x"), true); err == nil {
		t.Error("below a file: no error")
	}
}

func TestRemoveTemps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".tmp-1", "keep", ".tmpkeep"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, ".tmp-2", "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTemps(dir); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, ".tmpkeep", "keep")
	if err := RemoveTemps(filepath.Join(dir, "none")); err != nil {
		t.Errorf("missing directory: %v", err)
	}
}

func TestSyncDirMissing(t *testing.T) {
	t.Parallel()
	if err := SyncDir(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func failWith(code syscall.Errno) func(from, to string) error {
	return func(from, to string) error {
		return &os.LinkError{Op: "test", Old: from, New: to, Err: code}
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		t.Errorf("content %.20q, want %.20q", got, want)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("names %q, want %q", got, want)
	}
}
