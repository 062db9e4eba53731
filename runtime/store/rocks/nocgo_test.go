//go:build !cgo

package rocks

import (
	"strings"
	"testing"
)

func TestWithoutCgo(t *testing.T) {
	t.Parallel()
	e, err := New(Config{})
	if err == nil || e != nil {
		t.Fatalf("got %v, %v", e, err)
	}
	for _, word := range []string{"CGO_ENABLED=1", "tws-gen env", "memory store"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
}
