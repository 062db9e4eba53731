//go:build cgo && grocksdb_no_link

package crash

import (
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/rocks"
)

// engines makes each kind of state store that this build has.
var engines = map[string]func() (store.Engine, error){
	"mem": newMem,
	"rocks": func() (store.Engine, error) {
		return rocks.New(rocks.Config{MemoryBytes: 32 << 20})
	},
}
