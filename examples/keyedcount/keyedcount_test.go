package keyedcount

import (
	"testing"

	"github.com/tws-go/tws/runtime/twstest"
)

// Every event has its number among those of its key, in their order, from one epoch
// to the next and through a restart.
func TestCountEvents(t *testing.T) {
	twstest.Run(t, CountEvents,
		twstest.Rows(Event{"ann", 1}, Event{"bob", 2}, Event{"ann", 3}),
		twstest.Rows(Event{"bob", 4}, Event{"", 5}),
		twstest.Restart(),
		twstest.Rows(Event{"ann", 6}, Event{"bob", 7}, Event{"ann", 8}),
	).Golden("testdata/counts.jsonl")
}
