//go:build unix

package checkpoint

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The lock ends with Close, even if a child that is being started at that moment
// still has a copy of the file.
func TestLockEndsWithClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir, nil)
	fd, err := syscall.Dup(int(c.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	closeAll(t, c)
	closeAll(t, open(t, dir, nil))
}

func TestLockWithinProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir, nil)
	before := readTree(t, dir)
	_, err := Open(dir, Options{Fork: true})
	want := fmt.Sprintf("checkpoint %s is in use by process %d: stop it first, or use another --checkpoint", dir, os.Getpid())
	wantErr(t, err, ErrLocked)
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	wantSameTree(t, readTree(t, dir), before)
	closeAll(t, c)
	open(t, dir, nil)
}

const lockDirVar = "TWS_TEST_LOCK_DIR"

// TestMain runs the tests, or is the other process of TestLockAcrossProcesses.
func TestMain(m *testing.M) {
	if dir := os.Getenv(lockDirVar); dir != "" {
		os.Exit(holdLock(dir))
	}
	os.Exit(m.Run())
}

// holdLock opens a checkpoint, says so and waits to be killed.
func holdLock(dir string) int {
	c, err := Open(dir, Options{NoSync: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held", c.UID())
	bufio.NewReader(os.Stdin).ReadByte()
	return 0
}

// A killed process leaves its LOCK file but not its lock.
func TestLockAcrossProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ckpt")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockDirVar+"="+dir)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	uid := ""
	for lines := bufio.NewScanner(stdout); uid == "" && lines.Scan(); {
		uid, _ = strings.CutPrefix(lines.Text(), "held ")
	}
	_, err = Open(dir, Options{NoSync: true})
	wantErr(t, err, ErrLocked, fmt.Sprintf("process %d:", cmd.Process.Pid))
	must(t, cmd.Process.Kill())
	cmd.Wait() // reports the kill
	if c := open(t, dir, nil); c.UID() != uid {
		t.Errorf("uid %q, want %q", c.UID(), uid)
	}
}

func TestLockHolderText(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                                      "another process",
		"garbage":                               "another process",
		"pid 12\nhost " + hostname() + "\n":     "process 12",
		"pid 12\nhost elsewhere\nnew field 1\n": "process 12 on host elsewhere",
	}
	for content, want := range tests {
		path := filepath.Join(t.TempDir(), lockName)
		must(t, os.WriteFile(path, []byte(content), 0o666))
		f, err := os.Open(path)
		must(t, err)
		if got := readHolder(f); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
		must(t, f.Close())
	}
}
