//go:build cgo && grocksdb_no_link

package rocks

import (
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Engine {
		e, err := New(Config{MemoryBytes: 512 << 20})
		if err != nil {
			b.Fatal(err)
		}
		return e
	})
}
