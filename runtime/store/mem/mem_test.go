package mem

import (
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Engine { return New() })
}
