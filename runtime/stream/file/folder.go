package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// found is a file that a listing met.
type found struct {
	name     string // relative, with slashes
	size     int64
	modified int64 // nanoseconds since 1970
}

// list returns the files in the folder and its sub-folders that are not to be
// ignored.
func (in *input) list(ctx context.Context) ([]found, error) {
	if err := checkFolder(in.dir); err != nil {
		return nil, in.errorf("%w", err)
	}
	return in.listUnder(ctx, "", nil)
}

// listUnder appends the files below the sub-folder dir to files.
func (in *input) listUnder(ctx context.Context, dir string, files []found) ([]found, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(in.path(dir))
	if err != nil {
		if dir != "" && errors.Is(err, fs.ErrNotExist) {
			return files, nil // it went while we were looking
		}
		return nil, in.errorf("list folder %s: %w", in.path(dir), err)
	}
	for _, e := range entries {
		if ignored(e.Name()) {
			continue
		}
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			files, err = in.listUnder(ctx, name, files)
		} else {
			files, err = in.listFile(name, files)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// listFile appends one file, if it is one to read, to files.
func (in *input) listFile(name string, files []found) ([]found, error) {
	info, err := os.Stat(in.path(name)) // follows links
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !isLink(in.path(name)):
		return nil, in.errorf("look at %s: %w", in.path(name), err)
	case err != nil && !isLink(in.path(name)):
		return files, nil // it went while we were looking
	case err != nil || !info.Mode().IsRegular():
		if !in.strange[name] {
			in.strange[name] = true
			in.log.Warn("file: ignored, it is neither a file nor a link to a file", "path", in.path(name))
		}
		return files, nil
	}
	if kind := compression(name); kind != "" {
		return nil, in.errorf("%s looks compressed (%s), which this source cannot read: decompress it, or move it out of the folder",
			in.path(name), kind)
	}
	return append(files, found{name: name, size: info.Size(), modified: info.ModTime().UnixNano()}), nil
}

// isLink reports whether there is a symbolic link at path.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// ignored reports whether files and folders of that name are none of ours:
// hidden ones, and those still being written.
func ignored(base string) bool {
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || strings.HasSuffix(base, ".tmp")
}

// compression returns the extension that says that a file is compressed, or "".
func compression(name string) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".gz", ".gzip", ".tgz", ".zst", ".zstd", ".snappy", ".sz", ".bz2", ".xz", ".lz4", ".lzo", ".lzma",
		".br", ".z", ".zip", ".7z", ".rar", ".deflate":
		return ext
	}
	return ""
}

// path returns where the file with the relative name is.
func (in *input) path(name string) string { return filepath.Join(in.dir, filepath.FromSlash(name)) }
