//go:build !(cgo && grocksdb_no_link)

package dialogue_test

import (
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
)

// stores are the state stores of this build, by name.
var stores = map[string]newStore{
	"mem": func(testing.TB) store.Engine { return mem.New() },
}
