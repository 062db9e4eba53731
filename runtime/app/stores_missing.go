//go:build !(cgo && grocksdb_no_link)

package app

// builtStores returns the stores of a build without RocksDB.
func builtStores() []storeKind { return []storeKind{memStore} }
