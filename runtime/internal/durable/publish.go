package durable

import (
	"errors"
	"syscall"
)

// lacksLinks reports whether err, from link(2), means that the file system has
// no hard links, or no more for this file.
func lacksLinks(err error) bool {
	return isAny(err, syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK)
}

// lacksRename reports whether err, from a rename that must not replace, means
// that the system or the file system has no such call.
func lacksRename(err error) bool {
	return isAny(err, syscall.EINVAL, syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS)
}

func isAny(err error, codes ...syscall.Errno) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}
