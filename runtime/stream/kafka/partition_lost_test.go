package kafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// TestRecordsDeleted: records that are deleted before they were read are a loss,
// told with the numbers.
func TestRecordsDeleted(t *testing.T) {
	t.Parallel()
	for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: policy})
		x.put(0, numbers(0, 9)...)
		x.put(1, 100)
		wantIDs(t, x.drain(), append(numbers(0, 9), 100)...)
		x.stop()
		x.put(0, numbers(10, 19)...)
		if err := x.fake.DeleteRecords("sensors", 0, 15); err != nil {
			t.Fatal(err)
		}
		if policy == LostFail {
			err := x.fail()
			wantError(t, err, "topic sensors, partition 0: offset 10", "holds 15 to 20", "up to 5 of them", "OnLostData")
			lost, ok := errors.AsType[*LostError](err)
			if !ok || lost.Wanted != 10 || lost.Start != 15 || lost.End != 20 {
				t.Errorf("error is %#v, want a LostError with the numbers", err)
			}
			if !errors.Is(err, stream.ErrLostData) {
				t.Errorf("%v is no ErrLostData", err)
			}
			continue
		}
		wantIDs(t, x.follow(5), numbers(15, 19)...)
		x.wantAt(`{"sensors":{"0":20,"1":1}}`)
		x.wantLog("records are lost", 1)
	}
}

// TestRecordsDeletedFromPlan: what an earlier run planned to read is gone. Cut and
// Read tell, or end under the policy.
func TestRecordsDeletedFromPlan(t *testing.T) {
	t.Parallel()
	for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: policy})
		x.put(0, numbers(0, 9)...)
		end := x.discover(true)
		x.restart()
		if err := x.fake.DeleteRecords("sensors", 0, 6); err != nil {
			t.Fatal(err)
		}
		rows, _, err := x.tryRead(nil, end)
		if policy == LostFail {
			wantError(t, err, "offset 0 was to be read next, but the log holds 6 to 10")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, ids(rows), numbers(6, 9)...)
	}
}

// TestTopicRemade: offsets mean nothing in a topic that was deleted and made anew,
// not even if it has them again.
func TestTopicRemade(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
			x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: policy})
			x.put(0, numbers(0, 9)...)
			x.drain()
			if !running {
				x.stop()
			}
			x.remake(2)
			x.put(0, numbers(100, 119)...)
			if policy == LostFail {
				x.clock.Add(31)
				wantError(t, x.fail(), "topic sensors, partition 0: the topic was deleted and made anew after it had been read to offset 10", "OnLostData")
				continue
			}
			x.clock.Add(31)
			wantIDs(t, x.follow(20), numbers(100, 119)...)
			x.wantAt(`{"sensors":{"0":10},"sensors@2":{"0":20}}`)
			x.restart()
			x.put(1, 120)
			wantIDs(t, x.drain(), 120)
			x.wantAt(`{"sensors":{"0":10},"sensors@2":{"0":20,"1":1}}`)
			x.wantLog("records are lost", 1)
		}
	}
}

// TestPlanOfRemadeTopic: rows that were planned from a topic that was then made
// anew are lost, and never those of the new one.
func TestPlanOfRemadeTopic(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: EarliestAvailable})
	x.put(0, numbers(0, 9)...)
	end := x.discover(true)
	x.stop()
	x.remake(2)
	x.put(0, numbers(100, 119)...)
	x.restart()
	wantIDs(t, ids(x.read(nil, end)))
	if to := x.cut(nil, end, limitRows(3)); !to.Equal(end) {
		t.Errorf("cut ends at %s, want the end %s: nothing can be read before it", to, end)
	}
	x.at = end
	wantIDs(t, x.drain(), numbers(100, 119)...)
}

// TestLostPlanNamesOffset: a run that goes on with what an earlier one planned says
// how far the topic had been read that is gone, or another.
func TestLostPlanNamesOffset(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*topicTest[sensor]){
		"deleted and made anew": func(x *topicTest[sensor]) { x.remake(2) },
		"deleted":               func(x *topicTest[sensor]) { x.delete() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
			x.put(0, numbers(0, 9)...)
			x.drain()
			x.put(0, numbers(10, 19)...)
			end := x.discover(true)
			x.stop()
			change(x)
			want := "topic sensors, partition 0: the topic was " + what + " after it had been read to offset 10;"
			x.restart()
			_, _, err := x.tryRead(x.at, end)
			wantError(t, err, want)
			_, err = x.reader.Cut(t.Context(), x.at, end, limitRows(3))
			wantError(t, err, want)
			wantError(t, x.fail(), want)
		})
	}
}

// TestTopicDeleted: a topic that is gone is a loss; under the policy the source
// waits for it.
func TestTopicDeleted(t *testing.T) {
	t.Parallel()
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
		x.put(0, 1)
		x.drain()
		x.delete()
		x.clock.Add(31)
		wantError(t, x.fail(), "topic sensors, partition 0: the topic was deleted after it had been read to offset 1")
	})
	t.Run("wait", func(t *testing.T) {
		t.Parallel()
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: EarliestAvailable})
		x.put(0, 1)
		x.drain()
		x.delete()
		x.clock.Add(31)
		x.discoverUntil("records are lost")
		if err := x.fake.CreateTopic("sensors", 1, nil); err != nil {
			t.Fatal(err)
		}
		x.client = x.producer()
		x.put(0, 2)
		x.clock.Add(31)
		wantIDs(t, x.follow(1), 2)
	})
}

// TestDeletedTopicWasRemade: of a topic that had been made anew with fewer partitions and
// is then deleted, or made anew again, those are lost that it had last.
func TestDeletedTopicWasRemade(t *testing.T) {
	t.Parallel()
	for _, planned := range []bool{true, false} {
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: EarliestAvailable})
		x.put(1, 1)
		x.drain()
		x.stop()
		x.remake(1)
		x.put(0, 2)
		wantIDs(t, x.drain(), 2)
		x.put(0, 3)
		end := x.discover(true)
		x.stop()
		if planned {
			x.remake(1)
		} else {
			x.delete()
		}
		x.restart()
		before := len(x.log.String())
		if planned {
			wantIDs(t, ids(x.read(x.at, end)))
		} else {
			x.discover(false)
		}
		told := x.log.String()[before:]
		if !strings.Contains(told, "partition=0 wanted=1 start=-1") || strings.Contains(told, "partition=1") {
			t.Errorf("planned %v: want that partition 0 alone is lost:\n%s", planned, told)
		}
	}
}

// TestTopicForgotten: a topic is not lost because one broker, which has not caught
// up, does not know it.
func TestTopicForgotten(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
		x.put(0, 1)
		x.drain()
		if !running {
			x.stop()
		}
		x.put(0, 2)
		fault := x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "sensors", Err: kerr.UnknownTopicOrPartition, Count: 1})
		if !running {
			x.restart()
		}
		x.discover(true)
		wantIDs(t, x.follow(1), 2)
		if fault.Hits() == 0 {
			t.Error("the error was never met")
		}
	}
}

// TestTopicMissing: a topic that was never there is for a person to create.
func TestTopicMissing(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "none"})
	_, err := x.open()
	wantError(t, err, "topic none does not exist", "kafka-topics.sh --bootstrap-server "+x.brokers+" --create --topic none", "Source.Topic")
	if !errors.Is(err, stream.ErrMisconfigured) {
		t.Errorf("error %v is not one of the configuration", err)
	}
}

// TestLogCutShort: a log that ends before what was read of it lost records, as when
// a replica that was behind became leader.
func TestLogCutShort(t *testing.T) {
	t.Parallel()
	for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: policy})
		x.put(0, 1, 2)
		x.put(1, 11)
		x.drain()
		x.stop()
		x.at = []byte(`{"sensors":{"0":7,"1":1}}`)
		if policy == LostFail {
			wantError(t, x.fail(), "topic sensors, partition 0: offset 7", "holds 0 to 2", "cut short")
			x.restart()
			_, err := x.tryDiscover(true)
			wantError(t, err, "offset 7", "cut short")
			continue
		}
		x.discoverUntil("generation=2")
		x.put(0, 3)
		x.put(1, 12)
		wantIDs(t, x.follow(2), 3, 12)
		x.wantAt(`{"sensors":{"0":7,"1":1},"sensors@2":{"0":3,"1":2}}`)
	}
}

// discoverUntil discovers until a text is in the log.
func (x *topicTest[R]) discoverUntil(text string) {
	x.Helper()
	until(x, text, func() bool { x.discover(false); return strings.Contains(x.log.String(), text) })
}

// remake deletes the topic and makes it anew.
func (x *topicTest[R]) remake(partitions int32) {
	x.Helper()
	x.delete()
	if err := x.fake.CreateTopic("sensors", partitions, nil); err != nil {
		x.Fatal(err)
	}
	x.client = x.producer()
}

// delete deletes the topic.
func (x *topicTest[R]) delete() {
	x.Helper()
	if err := x.fake.DeleteTopic("sensors"); err != nil {
		x.Fatal(err)
	}
}

// wantLog checks how often text is in the log, at least.
func (x *topicTest[R]) wantLog(text string, times int) {
	x.Helper()
	if n := strings.Count(x.log.String(), text); n < times {
		x.Errorf("%q is %d times in the log, want %d:\n%s", text, n, times, x.log.String())
	}
}

// TestDoubts: a topic that brokers keep denying though it is there is fetched again
// with a warning, and not for ever.
func TestDoubts(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, 1)
	x.discover(false)
	deny := func() {
		f := x.reader.(*reader[sensor]).fetch
		f.mu.Lock()
		defer f.mu.Unlock()
		f.logs[1].fail(anotherTopic, kerr.UnknownTopicID)
	}
	deny()
	wantIDs(t, x.follow(1), 1)
	x.wantLog("did not know a topic that is there", 1)
	err := error(nil)
	for range maxDoubts + 1 {
		if deny(); err == nil {
			_, err = x.tryDiscover(false)
		}
	}
	wantError(t, err, "topic sensors was deleted, and maybe created anew (partition 1, offset 0)")
	x.restart()
	x.put(0, 2)
	wantIDs(t, x.follow(1), 2)
}
