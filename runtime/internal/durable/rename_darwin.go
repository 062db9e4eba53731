package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames from to to unless to exists.
func renameNoReplace(from, to string) error {
	if err := unix.RenamexNp(from, to, unix.RENAME_EXCL); err != nil {
		return &os.LinkError{Op: "renamex_np", Old: from, New: to, Err: err}
	}
	return nil
}
