//go:build !linux && !darwin

package durable

import (
	"os"
	"syscall"
)

// renameNoReplace fails: this system has no such call.
func renameNoReplace(from, to string) error {
	return &os.LinkError{Op: "rename without replacing", Old: from, New: to, Err: syscall.ENOSYS}
}
