//go:build cgo && grocksdb_no_link

package app

import (
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/rocks"
)

// builtStores returns the stores of a build with RocksDB.
func builtStores() []storeKind {
	open := func() (store.Engine, error) { return rocks.New(rocks.Config{}) }
	return []storeKind{{name: "rocks", open: open}, memStore}
}
