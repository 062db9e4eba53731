//go:build !cgo

package rocks

import (
	"errors"

	"github.com/tws-go/tws/runtime/store"
)

// New says that this build has no RocksDB.
func New(Config) (store.Engine, error) {
	return nil, errors.New("rocks: this program was built without cgo and so without RocksDB: build it with CGO_ENABLED=1 and the environment that tws-gen env prints, or use the memory store")
}
