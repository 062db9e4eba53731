package kafka

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// Rows are on their way while the epoch still runs, and in a lane's order.
func TestDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	d := c.decide(Sink[sinkRow]{Guarantee: AtLeastOnce, Partition: func(sinkRow) int32 { return 1 }})
	if _, ok := d.w.(stream.Decider); ok {
		t.Fatal("a sink that delivers at least once decides")
	}
	d.begin(1)
	arrived := c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Count: -1, Observe: true})
	const rows = 5000
	var want []int64
	for i := range int64(rows) {
		d.write(0, i)
		want = append(want, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deliveryTimeout)
	defer cancel()
	if err := arrived.Wait(ctx, 1); err != nil {
		t.Fatal("nothing is on its way before Prepare: ", err)
	}
	if staged := d.finish(); staged.Rows != rows {
		t.Errorf("staged %d rows", staged.Rows)
	}
	var got []int64
	for _, r := range c.committed("alerts") {
		var id int64
		if _, err := fmt.Sscanf(string(r.Value), `{"id":%d`, &id); err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows are in another order than the %d that were written", len(got), len(want))
	}
}

// The first failure ends the attempt; the next one writes again what arrived.
func TestDeliveryFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  *kerr.Error
		says string
	}{
		"not allowed":  {kerr.TopicAuthorizationFailed, "grant this user"},
		"too large":    {kerr.MessageTooLarge, "max.message.bytes"},
		"no key":       {kerr.InvalidRecord, "compacted topic needs a key"},
		"server error": {kerr.PolicyViolation, "POLICY_VIOLATION"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			d := c.decide(Sink[sinkRow]{Guarantee: AtLeastOnce, Partition: func(r sinkRow) int32 { return int32(r.ID) }})
			d.begin(1)
			c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Partitions: []int32{1}, Err: test.err})
			d.write(0, 0)
			d.write(0, 1)
			_, err := d.w.Prepare(t.Context())
			wantError(t, err, test.says)
			wantError(t, d.w.Write(0, nil, &sinkRow{ID: 2}), test.says)
			d.begin(1)
			d.write(0, 0)
			d.write(0, 1)
			d.finish()
			c.wantIDs(0, 0, 1)
		})
	}
}

// A broker that answers nothing holds up a row only as long as the run lasts.
func TestDeliveryWaits(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	w := c.open(Sink[sinkRow]{Guarantee: AtLeastOnce, ClientOptions: func() ([]kgo.Opt, error) {
		return []kgo.Opt{kgo.MaxBufferedRecords(10)}, nil
	}})
	c.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		return nil, nil, true // never answered
	})
	ctx, cancel := context.WithCancel(t.Context())
	if err := w.Begin(ctx, stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	full := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			if i == 10 {
				close(full)
			}
			if err := w.Write(0, nil, &sinkRow{}); err != nil {
				failed <- err
				return
			}
		}
	}()
	<-full
	runtime.Gosched()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiting row fails with %v", err)
	}
	if _, err := w.Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("prepare fails with %v", err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	wantError(t, w.Begin(t.Context(), stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}), "closed")
}

func TestDeliveryOrderOfCalls(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	w := c.open(Sink[sinkRow]{Guarantee: AtLeastOnce})
	_, err := w.Prepare(t.Context())
	wantError(t, err, "prepare without begin")
	wantError(t, w.Write(0, nil, &sinkRow{}), "lane 0 does not exist")
	wantError(t, w.Begin(t.Context(), stream.Attempt{}), "both start at 1")
}

// Brokers restart between epochs and under way.
func TestDeliveryRides(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	d := c.decide(Sink[sinkRow]{Guarantee: AtLeastOnce})
	d.begin(1)
	c.fake.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.OutOfOrderSequenceNumber},
	)
	cut := 2
	c.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if cut--; cut < 0 {
			return nil, nil, false
		}
		c.fake.KeepControl()
		return nil, errors.New("cut"), true
	})
	d.write(0, 1)
	d.write(0, 2)
	d.finish()
	c.wantIDs(1, 2)
}
