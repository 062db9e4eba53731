//go:build cgo && grocksdb_no_link

package rocks

// #include "native.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tws-go/tws/runtime/store"
)

// takeError makes a Go error of a C one and frees it.
func takeError(c *C.char) error {
	defer C.rocksdb_free(unsafe.Pointer(c))
	return errors.New(C.GoString(c))
}

// fail says what failed in which store. RocksDB's errors are text; those that
// report damage match [store.ErrCorrupt].
func (s *Store) fail(what string, err error) error {
	return fmt.Errorf("rocks: %s: %s: %w", what, s.dir, classify(err))
}

func classify(err error) error {
	if !errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), "Corruption:") {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return err
}

// openError says what an error of opening a database means. At that time its
// files have been checked to be there, so one that is missing was lost.
func openError(err error) error {
	text := err.Error()
	if strings.Contains(text, "lock hold by") || strings.Contains(text, "While lock file") {
		return fmt.Errorf("the store is open already, in this process or another one; close it first: %w", err)
	}
	for _, part := range []string{"No such file", "Column family", "does not exist", "not opened"} {
		if strings.Contains(text, part) {
			return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
	}
	return classify(err)
}

// chars returns the address of b for a C call.
func chars(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }
