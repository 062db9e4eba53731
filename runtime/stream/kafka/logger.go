package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// repeatEvery bounds how long a message that repeats is left out.
const repeatEvery = 64

// worthTelling reports whether the nth time of something is told: the intervals
// grow, and never end.
func worthTelling(n int) bool { return n&(n-1) == 0 || n%repeatEvery == 0 }

// logger hands the client's warnings and errors on as warnings. A message that
// repeats is told at growing intervals.
type logger struct {
	log    *slog.Logger
	redact func(string) string

	mu   sync.Mutex
	seen map[string]int // by message
}

// maxSeen bounds the messages that are counted. The client has fewer.
const maxSeen = 1000

// Level lets warnings and errors through.
func (*logger) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log tells a message, unless it is one about connections, which a [watch] tells
// better.
func (l *logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if level > kgo.LogLevelWarn || level == kgo.LogLevelNone || aboutConnecting(msg) {
		return
	}
	n := l.count(msg)
	if !worthTelling(n) {
		return
	}
	attrs := []slog.Attr{slog.String("said", msg)}
	for i := 0; i+1 < len(keyvals); i += 2 {
		attrs = append(attrs, slog.Any(fmt.Sprint(keyvals[i]), l.printable(keyvals[i+1])))
	}
	if n > 1 {
		attrs = append(attrs, slog.Int("times", n))
	}
	l.log.LogAttrs(context.Background(), slog.LevelWarn, "the Kafka client warns", attrs...)
}

// aboutConnecting reports whether a message is one that a connection could not be
// opened.
func aboutConnecting(msg string) bool {
	for _, start := range []string{"unable to open connection to broker", "unable to request api versions", "unable to initialize sasl", "read from broker"} {
		if strings.HasPrefix(msg, start) {
			return true
		}
	}
	return false
}

// printable makes of a value what every log handler can write, without secrets.
func (l *logger) printable(v any) any {
	switch v := v.(type) {
	case bool, int, int16, int32, int64, time.Duration:
		return v
	}
	return l.redact(fmt.Sprint(v))
}

func (l *logger) count(msg string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) >= maxSeen {
		clear(l.seen)
	}
	l.seen[msg]++
	return l.seen[msg]
}

// watch tells of brokers that cannot be reached, and of those that can again.
type watch struct {
	cluster *cluster
	log     *slog.Logger

	mu     sync.Mutex
	opened bool           // some broker was reached
	failed map[string]int // attempts in a row, by broker
}

// OnBrokerConnect is called by the client after each attempt. Before the first
// success it leaves what waiting does not cure to [ping], which returns it.
func (w *watch) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	broker := net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		if w.opened = true; w.failed[broker] > 0 {
			w.log.Info("connected to a broker again", "broker", broker)
		}
		delete(w.failed, broker)
		return
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) || strings.Contains(err.Error(), "operation was canceled") {
		return // by us
	}
	f := w.cluster.diagnose(broker, err)
	if !w.opened && f.grade != passing {
		return
	}
	w.failed[broker]++
	if n := w.failed[broker]; worthTelling(n) {
		w.log.Warn("cannot connect to a broker, will try again", "broker", broker, "attempts", n, "error", f.text)
	}
}
