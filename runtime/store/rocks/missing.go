//go:build !(cgo && grocksdb_no_link)

package rocks

import (
	"errors"

	"github.com/tws-go/tws/runtime/store"
)

// New says that this build has no RocksDB, and how to make one that has.
func New(Config) (store.Engine, error) {
	return nil, errors.New(`rocks: this program was built without RocksDB: run eval "$(go tool tws-gen env)" and build it again, or use the memory store`)
}
