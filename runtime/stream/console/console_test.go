package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

type alert struct {
	ID    int64   `json:"id"`
	Value float64 `json:"value"`
}

var _ stream.SinkImpl[alert] = JSON[alert]{}

var alertRow = &stream.Row[alert]{
	Type: "console.alert",
	AppendJSON: func(dst []byte, v *alert) ([]byte, error) {
		b, err := json.Marshal(v)
		return append(dst, b...), err
	},
}

func open(t *testing.T, s JSON[alert]) stream.Writer[alert] {
	t.Helper()
	w, err := s.OpenSink(context.Background(), stream.SinkEnv[alert]{Row: alertRow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func begin(t *testing.T, w stream.Writer[alert], lanes int) {
	t.Helper()
	if err := w.Begin(context.Background(), stream.Attempt{Epoch: 1, Number: 1, Lanes: lanes}); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, w stream.Writer[alert], lane int, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if err := w.Write(lane, nil, &alert{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLanesInOrder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := open(t, JSON[alert]{Out: &out})
	begin(t, w, 3)
	var lanes sync.WaitGroup
	for lane := range 3 {
		lanes.Go(func() {
			for i := range int64(100) {
				if err := w.Write(lane, nil, &alert{ID: int64(lane)*100 + i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	lanes.Wait()
	if out.Len() > 0 {
		t.Error("rows were written before Prepare")
	}
	staged, err := w.Prepare(context.Background())
	if err != nil || staged.Rows != 300 || staged.Bytes != int64(out.Len()) {
		t.Errorf("staged %+v, %v, want 300 rows and %d bytes", staged, err, out.Len())
	}
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		var got alert
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.ID != int64(i) {
			t.Fatalf("line %d is %q, %v", i, line, err)
		}
	}
	if err := w.Publish(context.Background(), stream.Publication{Epoch: 1, Staged: staged}); err != nil {
		t.Error(err)
	}
}

func TestAttemptsDoNotMix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := open(t, JSON[alert]{Out: &out})
	begin(t, w, 2)
	write(t, w, 0, 1)
	write(t, w, 1, 2)
	begin(t, w, 1)
	write(t, w, 0, 3)
	begin(t, w, 2)
	write(t, w, 1, 4)
	if _, err := w.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	begin(t, w, 2)
	if staged, err := w.Prepare(context.Background()); err != nil || staged.Rows != 0 {
		t.Errorf("an empty epoch staged %+v, %v", staged, err)
	}
	if got, want := out.String(), "{\"id\":4,\"value\":0}\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

func TestRowThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := open(t, JSON[alert]{Out: &out})
	begin(t, w, 1)
	err := w.Write(0, nil, &alert{Value: math.NaN()})
	if err == nil || !strings.Contains(err.Error(), "console.alert") || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("error %v, want one with the row's type and the cause", err)
	}
	write(t, w, 0, 1)
	if _, err := w.Prepare(context.Background()); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("output %q, %v, want the other row", &out, err)
	}
}

// failing takes some bytes and then fails.
type failing struct {
	room int
	err  error
}

func (f failing) Write(b []byte) (int, error) { return min(f.room, len(b)), f.err }

func TestWriteFails(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, out := range []failing{{5, full}, {5, nil}} {
		w := open(t, JSON[alert]{Out: out})
		begin(t, w, 1)
		write(t, w, 0, 1)
		_, err := w.Prepare(context.Background())
		if err == nil || !strings.Contains(err.Error(), "console.alert") || out.err != nil && !errors.Is(err, out.err) {
			t.Errorf("error %v, want one with the row's type and the cause", err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	_, err := JSON[alert]{}.OpenSink(context.Background(), stream.SinkEnv[alert]{})
	if err == nil || !strings.Contains(err.Error(), "console.alert") || !strings.Contains(err.Error(), "go generate") {
		t.Errorf("error %v, want one with the row's type and the fix", err)
	}
	w := open(t, JSON[alert]{})
	begin(t, w, 2)
	for _, lane := range []int{-1, 2} {
		if err := w.Write(lane, nil, &alert{}); err == nil {
			t.Errorf("lane %d was accepted", lane)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	write(t, w, 0, 1)
	if _, err := w.Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("prepare: got %v, want cancellation", err)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s := JSON[alert]{}
	if s.SinkName() != "console" {
		t.Errorf("name %q, want console", s.SinkName())
	}
	if out := open(t, s).(*writer[alert]).out; out != os.Stdout {
		t.Errorf("output is %v, want standard output", out)
	}
}
