//go:build cgo && grocksdb_no_link

package dialogue_test

import (
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/store/rocks"
)

// stores are the state stores of this build, by name.
var stores = map[string]newStore{
	"mem": func(testing.TB) store.Engine { return mem.New() },
	"rocks": func(t testing.TB) store.Engine {
		e, err := rocks.New(rocks.Config{MemoryBytes: 32 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return e
	},
}
