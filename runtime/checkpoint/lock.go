//go:build unix

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const lockName = "LOCK"

// lockedError says who holds a checkpoint. It matches [ErrLocked].
type lockedError struct {
	dir, holder string
}

func (e *lockedError) Error() string {
	return "checkpoint " + e.dir + " is in use by " + e.holder + ": stop it first, or use another --checkpoint"
}

func (e *lockedError) Is(target error) bool { return target == ErrLocked }

// takeLock takes the checkpoint's lock, which lasts until the file is closed or
// the process ends, and writes into it who holds it. flock(2) belongs to the
// open file, not to the process, so a second Open in one process conflicts too.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &lockedError{dir: dir, holder: readHolder(f)}
	} else if err != nil {
		err = fmt.Errorf("checkpoint: lock %s: %w: use a file system with flock(2)", f.Name(), err)
	} else {
		err = writeHolder(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// releaseLock gives the lock up. Closing alone would not do it at once: a child
// that is just being started holds a copy of the file until it executes.
func releaseLock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// writeHolder leaves our name for whoever finds the checkpoint locked. The
// file's modification time says since when.
func writeHolder(f *os.File) error {
	text := fmt.Sprintf("pid %d\nhost %s\n", os.Getpid(), hostname())
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: lock: %w", err)
	}
	return nil
}

// readHolder says who holds the lock, as far as can be known: the holder may be
// just about to write its name.
func readHolder(f *os.File) string {
	b := make([]byte, 1024)
	n, _ := f.ReadAt(b, 0) // whatever is there
	var pid, host string
	for line := range strings.Lines(string(b[:n])) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch field {
		case "pid":
			pid = value
		case "host":
			host = value
		}
	}
	switch {
	case pid == "":
		return "another process"
	case host != hostname():
		return "process " + pid + " on host " + host
	}
	return "process " + pid
}

// hostname is "" where the system does not tell.
func hostname() string {
	name, _ := os.Hostname()
	return name
}
