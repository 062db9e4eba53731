package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// TestOldLookIsDropped: an answer in the background is not taken after a newer one.
func TestOldLookIsDropped(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.discover(false)
	f := x.reader.(*reader[sensor]).feed
	release := make(chan struct{})
	f.looking.ask(func(ctx context.Context) look {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return look{seen: listing{}} // before the topic was made
	})
	if err := f.lookNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(release)
	until(t, "the old answer", func() bool { return !f.looking.open() || len(f.looking.answer) > 0 })
	x.discover(false) // takes what is there
}

// TestCloseDropsInquiries: a reader is closed at once, though brokers do not answer
// what was asked in the background.
func TestCloseDropsInquiries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key kmsg.Key
		ask func(*topicTest[sensor])
	}{
		"partitions": {kmsg.Metadata, func(x *topicTest[sensor]) { x.clock.Add(31); x.discover(false) }},
		"ends":       {kmsg.ListOffsets, func(x *topicTest[sensor]) { x.reader.(stream.Polled).PolledAt() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
			x.discover(false)
			release, asked := make(chan struct{}), make(chan struct{}, 100)
			defer close(release)
			x.fake.ControlKey(int16(c.key), func(kmsg.Request) (kmsg.Response, error, bool) {
				x.fake.KeepControl()
				asked <- struct{}{}
				x.fake.SleepControl(func() { <-release })
				return nil, nil, false
			})
			c.ask(x)
			<-asked
			closed := make(chan struct{})
			go func() { defer close(closed); x.stop() }()
			select {
			case <-closed:
			case <-time.After(5 * time.Second):
				t.Error("the reader is not closed after 5 seconds")
				<-closed
			}
		})
	}
}
