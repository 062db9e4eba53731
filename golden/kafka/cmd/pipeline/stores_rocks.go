//go:build cgo && grocksdb_no_link

package main

import (
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/rocks"
)

func openStores() (store.Engine, error) { return rocks.New(rocks.Config{MemoryBytes: 32 << 20}) }
