//go:build !(cgo && grocksdb_no_link)

package crash

import "github.com/tws-go/tws/runtime/store"

// engines makes each kind of state store that this build has.
var engines = map[string]func() (store.Engine, error){"mem": newMem}
