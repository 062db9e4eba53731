//go:build !(cgo && grocksdb_no_link)

package pipeline

import "github.com/tws-go/tws/runtime/store"

// Engines makes each kind of state store that this build has.
var Engines = map[string]func() (store.Engine, error){"mem": newMem}
