//go:build !(cgo && grocksdb_no_link)

package main

import (
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
)

func openStores() (store.Engine, error) { return mem.New(), nil }
