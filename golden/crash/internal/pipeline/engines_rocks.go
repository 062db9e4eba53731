//go:build cgo && grocksdb_no_link

package pipeline

import (
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/rocks"
)

// Engines makes each kind of state store that this build has.
var Engines = map[string]func() (store.Engine, error){
	"mem": newMem,
	"rocks": func() (store.Engine, error) {
		return rocks.New(rocks.Config{MemoryBytes: 32 << 20})
	},
}
