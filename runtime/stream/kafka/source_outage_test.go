package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// outageDials is how many connections are refused while brokers are down.
const outageDials = 3

// outage stops the brokers at one question of a source: it is not answered, every
// connection breaks, and the next ones are refused. The client tries again only once,
// and at once, so that waiting is up to the source.
type outage struct {
	mu      sync.Mutex
	at      question
	seen    map[kmsg.Key]int
	conns   []net.Conn
	refused int // connections, -1 while brokers run
}

// question is the n-th of a kind that a source asks.
type question struct {
	key kmsg.Key
	n   int
}

func (q question) String() string { return fmt.Sprintf("%s %d", q.key.Name(), q.n) }

// control begins the outage when the question comes; it handles that one.
func (o *outage) control(r kmsg.Request) (kmsg.Response, error, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := kmsg.Key(r.Key())
	o.seen[key]++
	if o.at != (question{key, o.seen[key]}) {
		return nil, nil, false
	}
	o.refused = 0 // from now on
	for _, c := range o.conns {
		c.Close()
	}
	return nil, errors.New("the broker stops"), true
}

func (o *outage) dial(ctx context.Context, network, host string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if 0 <= o.refused && o.refused < outageDials {
		o.refused++
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	c, err := new(net.Dialer).DialContext(ctx, network, host)
	if err == nil {
		o.conns = append(o.conns, c)
	}
	return c, err
}

func (o *outage) options() ([]kgo.Opt, error) {
	return []kgo.Opt{kgo.Dialer(o.dial), kgo.RequestRetries(1)}, nil
}

// openFrom opens a source for the first time, from some offsets on, and reads what is
// there, through an outage at a question. It returns how many questions of each
// kind were asked.
func openFrom(t *testing.T, starts Offsets, at question, want ...int64) map[kmsg.Key]int {
	t.Helper()
	o := &outage{at: at, seen: map[kmsg.Key]int{}, refused: -1}
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", StartingOffsets: starts, ClientOptions: o.options})
	for p := range int32(2) {
		if err := x.fake.MoveTopicPartition("sensors", p, p); err != nil { // a leader each, so that both are asked
			t.Fatal(err)
		}
	}
	x.put(0, 1, 2)
	x.put(1, 11)
	x.fake.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.KeepControl()
		return o.control(r)
	})
	x.discover(false)
	wantIDs(t, x.drain(), want...)
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.n > 0 && o.refused < outageDials {
		t.Errorf("%d connections were refused, want %d", o.refused, outageDials)
	}
	return maps.Clone(o.seen)
}

// TestOutageAtQuestion: brokers that stop at any question of a source that is opened,
// and refuse connections for a while, are waited for.
func TestOutageAtQuestion(t *testing.T) {
	t.Parallel()
	for _, at := range []question{{kmsg.ApiVersions, 1}, {kmsg.Metadata, 1}, {kmsg.Metadata, 2}, {kmsg.Metadata, 3}, {kmsg.Fetch, 1}} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			openFrom(t, Earliest, at, 1, 2, 11)
		})
	}
	for name, c := range map[string]struct {
		starts Offsets
		want   []int64
	}{
		"earliest": {Earliest, []int64{1, 2, 11}},
		"latest":   {Latest, nil},
		"time":     {AtTime(time.Unix(0, 0)), []int64{1, 2, 11}},
		"offsets":  {At{0: 1}, []int64{2, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := openFrom(t, c.starts, question{}, c.want...)[kmsg.ListOffsets]
			if asked < 2 {
				t.Fatalf("%d questions for offsets, want one for the start and one for the end at least", asked)
			}
			for n := 1; n <= asked; n++ {
				openFrom(t, c.starts, question{kmsg.ListOffsets, n}, c.want...)
			}
		})
	}
}
