package kafka

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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

// sentRow is a row as it was handed to the client, which has it until promise is
// called.
type sentRow struct {
	ctx     context.Context
	left    time.Duration // until the context ends
	promise func(error)
}

// quietDelivery returns a delivery without brokers, and what it sends.
func quietDelivery(ctx context.Context) (*delivery[sinkRow], *[]sentRow) {
	d := &delivery[sinkRow]{target: &target{topic: "alerts"}, encoder: &recordEncoder[sinkRow]{
		topic: "alerts", limit: defaultMessageBytes, value: sinkRowCodec.AppendJSON,
	}}
	var sent []sentRow
	d.start(ctx, 1, func(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
		end, _ := ctx.Deadline()
		sent = append(sent, sentRow{ctx, time.Until(end), func(err error) { promise(r, err) }})
	})
	return d, &sent
}

// However slowly rows come in a long epoch, brokers have time to take each of them.
func TestDeliverySlowRows(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Second, 50 * time.Second, chunkAge, 5 * deliveryTimeout} {
		synctest.Test(t, func(t *testing.T) {
			d, sent := quietDelivery(t.Context())
			const rows = 300
			for range rows {
				if err := d.Write(0, nil, &sinkRow{}); err != nil {
					t.Fatal(err)
				}
				<-time.After(pause)
			}
			d.release()
			if len(*sent) != rows {
				t.Fatalf("%d rows were sent, want %d", len(*sent), rows)
			}
			for i, row := range *sent {
				if row.left < deliveryTimeout || row.left > deliveryTimeout+chunkAge {
					t.Fatalf("a row each %s: row %d has %s left", pause, i, row.left)
				}
				row.promise(nil)
				if last := i == rows-1; last && row.ctx.Err() == nil {
					t.Error("the context of rows that arrived is not freed")
				}
			}
		})
	}
}

// Rows written while an attempt ends share a chunk as others do.
func TestDeliveryEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d, sent := quietDelivery(ctx)
	cancel()
	for range 10 {
		if err := d.Write(0, nil, &sinkRow{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range *sent {
		if row.ctx != (*sent)[0].ctx || row.ctx.Err() == nil {
			t.Fatal("rows have a chunk each, or do not know that the attempt has ended")
		}
		row.promise(row.ctx.Err())
	}
	if err := d.Write(0, nil, &sinkRow{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a row after the end fails with %v", err)
	}
	d.release()
}

// What a failed attempt left open is freed when its rows are answered.
func TestDeliveryGivesUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sinkCluster, *delivery[sinkRow]) error{
		"next attempt": func(c *sinkCluster, d *delivery[sinkRow]) error {
			return d.Begin(c.t.Context(), stream.Attempt{Epoch: 1, Number: 2, Lanes: 1})
		},
		"close": func(_ *sinkCluster, d *delivery[sinkRow]) error { return d.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			d := c.open(Sink[sinkRow]{Guarantee: AtLeastOnce}).(*delivery[sinkRow])
			var sent []sentRow
			d.start(t.Context(), 2, func(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
				sent = append(sent, sentRow{ctx: ctx, promise: func(err error) { promise(r, err) }})
			})
			for lane := range 2 {
				if err := d.Write(lane, nil, &sinkRow{}); err != nil {
					t.Fatal(err)
				}
			}
			sent[0].promise(errors.New("refused"))
			wantError(t, d.Write(0, nil, &sinkRow{}), "refused")
			if err := end(c, d); err != nil {
				t.Fatal(err)
			}
			if sent[0].ctx.Err() == nil {
				t.Error("the context of an answered row is not freed")
			}
			if sent[1].ctx.Err() != nil {
				t.Error("a row that is on its way has no context any more")
			}
			sent[1].promise(nil)
			if sent[1].ctx.Err() == nil {
				t.Error("the context is not freed with its last row")
			}
		})
	}
}
