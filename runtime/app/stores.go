package app

import (
	"fmt"
	"strings"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
)

// storeKind is a kind of state store that a build has.
type storeKind struct {
	name string
	open func() (store.Engine, error)
}

var memStore = storeKind{name: "mem", open: func() (store.Engine, error) { return mem.New(), nil }}

// What is said of a build without RocksDB, and how to get one with it.
const (
	rocksMissing = "this binary was built without RocksDB"
	rocksRemedy  = `run eval "$(go tool tws-gen env)" and build again`
)

// storeNamed returns the store of that name, or the build's default for "".
func (e *env) storeNamed(name string) (storeKind, error) {
	if name == "" {
		return e.stores[0], nil
	}
	var names []string
	for _, s := range e.stores {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	if name == "rocks" {
		return storeKind{}, &usageError{path: "run", text: "--store rocks: " + rocksMissing + ": " + rocksRemedy + ", or use --store mem"}
	}
	return storeKind{}, &usageError{path: "run", text: fmt.Sprintf("--store: want %s, got %q", strings.Join(names, " or "), name)}
}

// hasRocks reports whether the build has RocksDB.
func (e *env) hasRocks() bool { return e.stores[0].name == "rocks" }
