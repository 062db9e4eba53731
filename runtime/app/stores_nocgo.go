//go:build !cgo

package app

// builtStores returns the stores of a build without cgo.
func builtStores() []storeKind { return []storeKind{memStore} }
