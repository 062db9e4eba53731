package rocksenv

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeSums records the hashes of files, which are slash-separated paths in
// tree, in the format of sha256sum.
func writeSums(tree string, files []string) error {
	var b strings.Builder
	for _, name := range files {
		sum, err := hashFile(filepath.Join(tree, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(tree, sumsFile), []byte(b.String()), 0o644)
}

// verify checks all files of a fetched tree against their recorded hashes. A
// tree that is not there is an error that matches fs.ErrNotExist.
func verify(tree string) error {
	if _, err := os.Stat(tree); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(tree, sumsFile))
	if err != nil {
		return fmt.Errorf("%s has no %s", tree, sumsFile)
	}
	lines := strings.Split(strings.TrimSuffix(string(sums), "\n"), "\n")
	for i, line := range lines {
		want, name, ok := strings.Cut(line, "  ")
		if !ok {
			return fmt.Errorf("%s line %d: %q is not a hash and a file name", filepath.Join(tree, sumsFile), i+1, line)
		}
		file := filepath.Join(tree, filepath.FromSlash(name))
		have, err := hashFile(file)
		if err != nil {
			return fmt.Errorf("%s cannot be read: %v", file, err)
		}
		if have != want {
			return fmt.Errorf("%s has SHA-256 %s, but %s was recorded", file, have, want)
		}
	}
	return nil
}

func hashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
