//go:build !(cgo && grocksdb_no_link)

package rocks

import (
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	e, err := New(Config{})
	if err == nil || e != nil {
		t.Fatalf("got %v, %v", e, err)
	}
	for _, word := range []string{"without RocksDB", `eval "$(go tool tws-gen env)"`, "memory store"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
}
