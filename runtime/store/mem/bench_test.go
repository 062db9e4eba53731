package mem

import (
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) store.Engine { return New() })
}
