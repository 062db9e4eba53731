package rocksenv

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const sumsFile = "SHA256SUMS"

// cachePath is the directory that a fetch ends in.
func (f *finder) cachePath() string {
	return filepath.Join(f.CacheDir, "tws", "rocksdb-"+rocksVersion+"-"+f.platform.name)
}

// fromCache uses an earlier fetch, or fetches if that is allowed.
func (f *finder) fromCache(ctx context.Context) (*library, error) {
	dir := f.cachePath()
	err := verify(dir)
	switch {
	case err == nil:
		return fromDir(dir, "cache")
	case !f.Fetch && errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("nothing was fetched yet, and this command does not fetch")
	case !f.Fetch:
		return nil, fmt.Errorf("the earlier fetch is damaged: %w; delete %s", err, dir)
	}
	if err := f.fetch(ctx, dir); err != nil {
		return nil, err
	}
	return fromDir(dir, "cache")
}

// fetch builds dir: download, unpack, check and then rename into place.
func (f *finder) fetch(ctx context.Context, dir string) error {
	if f.platform.entry == "" {
		return fmt.Errorf("the RocksDB %s release has no library for %s", rocksVersion, f.platform.name)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	// The archive goes where the system cleans up after a killed process, the
	// tree where a rename can reach the cache.
	archive, err := os.MkdirTemp("", "tws-rocksdb-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(archive)
	jar, err := f.download(ctx, archive)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	tree := filepath.Join(tmp, "tree")
	if err := f.assemble(ctx, jar, tree); err != nil {
		return err
	}
	return install(tree, dir)
}

// download has Maven put the release archive into dir and returns its path.
func (f *finder) download(ctx context.Context, dir string) (string, error) {
	if _, err := exec.LookPath("mvn"); err != nil {
		return "", errors.New("mvn is not installed")
	}
	fmt.Fprintf(f.Stderr, "rocksenv: fetching RocksDB %s with mvn (87 MB, once per user)\n", rocksVersion)
	// Maven runs in the empty directory so that no project file is read.
	_, err := output(ctx, dir, "mvn", "-q", "-B", "dependency:copy",
		"-Dartifact=org.rocksdb:rocksdbjni:"+rocksVersion, "-DoutputDirectory="+dir)
	if err != nil {
		return "", err
	}
	jar := filepath.Join(dir, "rocksdbjni-"+rocksVersion+".jar")
	if _, err := os.Stat(jar); err != nil {
		return "", fmt.Errorf("mvn ended well but left no archive: %w", err)
	}
	return jar, nil
}

// assemble makes the tree of the package comment.
func (f *finder) assemble(ctx context.Context, jar, tree string) error {
	lib := filepath.Join(tree, "lib", f.platform.lib)
	header := filepath.Join(tree, "include", "rocksdb", "c.h")
	for _, file := range []string{lib, header} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
	}
	if err := f.unpack(jar, lib); err != nil {
		return err
	}
	if strings.HasSuffix(lib, ".dylib") {
		// The archive's library carries the path of the machine it was built on,
		// which the linker would copy into every binary.
		if _, err := output(ctx, "", "install_name_tool", "-id", "@rpath/"+f.platform.lib, lib); err != nil {
			return err
		}
	}
	module, err := wrapperDir(ctx, f.Dir)
	if err != nil {
		return err
	}
	if err := copyFile(filepath.Join(module, "c.h"), header); err != nil {
		return err
	}
	return writeSums(tree, []string{"include/rocksdb/c.h", "lib/" + f.platform.lib})
}

// unpack takes the platform's library out of the archive and checks its hash.
func (f *finder) unpack(jar, dst string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("archive %s: %w", filepath.Base(jar), err)
	}
	defer z.Close()
	src, err := z.Open(f.platform.entry)
	if err != nil {
		return fmt.Errorf("archive %s: %w", filepath.Base(jar), err)
	}
	defer src.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), src)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("archive %s: unpack %s: %w", filepath.Base(jar), f.platform.entry, err)
	}
	if have := hex.EncodeToString(sum.Sum(nil)); have != f.platform.sha256 {
		return fmt.Errorf("archive %s: %s has SHA-256 %s, want %s; the download is not the RocksDB %s release",
			filepath.Base(jar), f.platform.entry, have, f.platform.sha256, rocksVersion)
	}
	return nil
}

// install renames tree to dir. If another fetch was faster, its result is used.
func install(tree, dir string) error {
	err := os.Rename(tree, dir)
	if err == nil || verify(dir) == nil {
		return nil
	}
	// What is there is damaged, for a directory only appears when it is complete.
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("replace the damaged %s: %w", dir, err)
	}
	if err = os.Rename(tree, dir); err == nil || verify(dir) == nil {
		return nil
	}
	return err
}

// wrapperDir returns the source directory of grocksdb: that of the module in dir
// if it uses grocksdb, else that of the version this package is written for.
func wrapperDir(ctx context.Context, dir string) (string, error) {
	out, err := output(ctx, dir, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", wrapperModule)
	if err == nil {
		version, module, _ := strings.Cut(out, " ")
		if !strings.HasPrefix(version, wrapperMinor+".") {
			return "", fmt.Errorf("the module uses %s %s, but RocksDB %s belongs to %s; run go get %s@%s",
				wrapperModule, version, rocksMinor, wrapperMinor, wrapperModule, wrapperPinned)
		}
		if module != "" {
			return module, nil
		}
	}
	out, err = output(ctx, dir, "go", "mod", "download", "-json", wrapperModule+"@"+wrapperPinned)
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return "", fmt.Errorf("go mod download -json %s: %w", wrapperModule, err)
	}
	if module.Dir == "" {
		return "", fmt.Errorf("go mod download -json %s: no directory in %q", wrapperModule, out)
	}
	return module.Dir, nil
}
