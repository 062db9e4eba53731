//go:build cgo

package rocks

import (
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/storetest"
)

// newEngine returns an engine with little memory, so that tests flush.
func newEngine(t *testing.T) store.Engine {
	t.Helper()
	e, err := New(Config{MemoryBytes: minMemory})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSuite(t *testing.T) { storetest.Run(t, newEngine) }
