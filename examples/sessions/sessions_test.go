package sessions

import (
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/twstest"
)

// Clicks become sessions whatever their order, with a gap of five minutes and a
// delay of one.
func TestFindSessions(t *testing.T) {
	click := func(user, after string) Click {
		d, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		return Click{User: user, Page: "/", At: twstest.Start.Add(d)}
	}
	result := twstest.Run(t, FindSessions,
		// One session of ann; bob's two become one when the click between them comes.
		twstest.Rows(click("ann", "0m"), click("ann", "5m30s"), click("ann", "4m45s"), click("bob", "1m")),
		twstest.Rows(click("bob", "6m30s")),
		twstest.Rows(click("bob", "5m40s")),
		twstest.Advance(time.Hour), // does not move the watermark
		twstest.Restart(),
		// A gap in a batch. The watermark comes to 29m20s, and cid's second session stays open.
		twstest.Rows(click("cid", "8m"), click("cid", "30m"), click("cid", "30m20s")),
		twstest.Rows(click("ann", "6m")), // late
		twstest.Rows(click("dan", "1h")), // moves the watermark on for cid; dan's own session stays open
	).Golden("testdata/sessions.jsonl")

	var late int64
	for _, epoch := range result.Stats() {
		late += epoch.Late
	}
	if late != 1 {
		t.Errorf("%d late clicks, want 1", late)
	}
}
