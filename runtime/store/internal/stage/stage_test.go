package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestDir(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "a", "b")
	dir := filepath.Join(parent, "c")
	fill := func(temp string) error {
		if err := os.Mkdir(temp, 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(temp, "file"), []byte("content"), 0o666)
	}
	if err := Dir(dir, fill); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := Dir(dir, fill); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second Dir: %v, want that it exists", err)
	}
	broken := errors.New("broken")
	err := Dir(filepath.Join(parent, "d"), func(temp string) error { return errors.Join(fill(temp), broken) })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want what fill returned", err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 1 || entries[0].Name() != "c" {
		t.Errorf("left %v, %v, want c alone", entries, err)
	}
}

func TestLinkAndCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	if err := os.WriteFile(src, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(src, dst string) error{"link": Link, "copy": Copy} {
		dst := filepath.Join(dir, name)
		if err := put(src, dst); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(dst); err != nil || string(got) != "content" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		a, errA := os.Stat(src)
		b, errB := os.Stat(dst)
		if errA != nil || errB != nil || os.SameFile(a, b) != (name == "link") {
			t.Errorf("%s: same file is %v", name, os.SameFile(a, b))
		}
		if err := put(src, dst); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s over a file: %v", name, err)
		}
		if err := put(filepath.Join(dir, "missing"), filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a missing file: %v", name, err)
		}
	}
}
