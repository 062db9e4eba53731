package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/stream"
)

func TestRunAndGoOn(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.feed("a.jsonl", 0, 3)
	l.do(copyToTable, exitDone, l.args()...)
	l.wantErr("this binary was built without RocksDB", "using the memory store", "msg=start trigger=available-now", "msg=done epochs=1 rows_in=3")
	l.feed("b.jsonl", 3, 5)
	l.do(copyToTable, exitDone, l.args("--store", "mem")...)
	l.wantErr("rows_in=2")
	if strings.Contains(l.err.String(), "RocksDB") {
		t.Errorf("a store that was asked for is explained:\n%s", l.err.String())
	}
	l.do(copyToTable, exitDone, l.args()...)
	l.wantErr("msg=done epochs=0 rows_in=0")
	l.wantRows("copies", upTo(5))
}

func TestRunConsole(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.feed("a.jsonl", 0, 2)
	// The sink writes to the process's standard output unless told otherwise.
	register := func(p *tws.Pipeline) { copyToWriter(p, &l.out) }
	l.do(register, exitDone, l.args()...)
	if want := "{\"id\":0,\"name\":\"n0\"}\n{\"id\":1,\"name\":\"n1\"}\n"; l.out.String() != want {
		t.Errorf("stdout is %q, want %q: it belongs to rows", l.out.String(), want)
	}
}

func TestRunMaxEpochs(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.feed("a.jsonl", 0, 5)
	l.do(copyToTable, exitDone, l.args("--max-epochs", "2", "--conf", "tws.max-rows=2")...)
	l.wantErr("msg=done epochs=2 rows_in=4")
	l.do(copyToTable, exitDone, l.args("--trigger", "1ms", "--max-epochs=1")...)
	l.wantErr("trigger=1ms", "msg=done epochs=1 rows_in=1")
	l.wantRows("copies", upTo(5))
}

// B-93: the record of an epoch has exact numbers.
func TestEpochRecord(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.write("a.jsonl", `{"id":1,"name":"a"}`+"\n"+`nonsense`+"\n"+`{"id":2,"name":"b"}`+"\n"+`{"id":1,"name":"c"}`+"\n")
	l.do(countToTable, exitDone, l.args("--log", "json", "--conf", "drop=true")...)
	var epoch, done map[string]any
	for _, text := range strings.Split(strings.TrimSpace(l.err.String()), "\n") {
		var record map[string]any
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Fatalf("%q is not a JSON record: %v", text, err)
		}
		switch record["msg"] {
		case "epoch":
			epoch = record
		case "done":
			done = record
		}
	}
	for key, want := range map[string]any{
		"flow": "count", "epoch": 1.0, "attempt": 1.0, "rows_in": 3.0, "malformed": 1.0, "keys": 2.0, "timers": 2.0, "rows_out": 4.0,
	} {
		if epoch[key] != want {
			t.Errorf("%s is %v, want %v", key, epoch[key], want)
		}
	}
	for key, want := range map[string]any{"epochs": 1.0, "rows_in": 3.0, "malformed": 1.0, "timers": 2.0, "rows_out": 4.0} {
		if done[key] != want {
			t.Errorf("in the summary, %s is %v, want %v", key, done[key], want)
		}
	}
	for _, key := range []string{"clock", "took_ms", "bytes_in", "bytes_out", "state_puts", "state_deletes", "changelog_bytes"} {
		if _, ok := epoch[key]; !ok {
			t.Errorf("the record has no %s", key)
		}
	}
	if _, ok := done["elapsed_ms"]; !ok {
		t.Error("the summary has no elapsed_ms")
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.feed("a.jsonl", 0, 2)
	l.do(copyToTable, exitDone, l.args("--quiet")...)
	if l.err.String() != "" {
		t.Errorf("stderr: %s", l.err.String())
	}
	l.write("b.jsonl", "nonsense\n")
	l.do(copyToTable, exitDone, l.args("--quiet", "--conf", "drop=true")...)
	l.wantErr("level=WARN", "b.jsonl")
}

func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ conf, want string }{
		{"dorp=true", "pipe: configuration dorp: no flow reads this key, did you mean drop?; known keys are drop, input, tws."},
		{"tws.partition=3", "pipe: configuration tws.partition: no flow reads this key"},
		{"tws.partitions=0", `pipe: configuration tws.partitions: want an integer from 1 to 256, got "0"`},
		{"drop=perhaps", `pipe: flow copy: tws: configuration drop: want true or false, got "perhaps"`},
		{"copy.drop=perhaps", `pipe: flow copy: tws: configuration copy.drop: want true or false`},
	} {
		t.Run(c.conf, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			l.do(copyToTable, exitUsage, l.args("--conf", c.conf)...)
			if !strings.HasPrefix(l.err.String(), c.want) || strings.Count(l.err.String(), "\n") != 1 {
				t.Errorf("stderr is not just %q:\n%s", c.want, l.err.String())
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	t.Run("malformed", func(t *testing.T) {
		t.Parallel()
		l := newLine(t)
		l.write("a.jsonl", "{\"id\":1}\nnonsense\n")
		l.do(copyToTable, exitFailed, l.args()...)
		l.wantErr("pipe: flow copy, epoch 1: ", "a.jsonl:2: malformed row: ", "hint: nothing of this epoch took effect; correct the input and start again", "file.Drop, kafka.Drop")
		l.do(copyToTable, exitDone, l.args("--conf", "drop=true")...) // what the hint says
		l.wantErr("rows_in=1", "malformed=1")
	})
	t.Run("epoch too large", func(t *testing.T) {
		t.Parallel()
		l := newLine(t)
		l.write("a.jsonl", strings.Repeat(fmt.Sprintf(`{"id":1,"name":"%s"}`+"\n", strings.Repeat("x", 1000)), 3000))
		l.do(countToTable, exitFailed, l.args("--conf", "tws.epoch-memory-mb=1")...)
		l.wantErr("hint: nothing of this epoch took effect; give it more memory with --conf tws.epoch-memory-mb=N")
		l.do(countToTable, exitDone, l.args("--conf", "tws.epoch-memory-mb=64")...) // what the hint says
	})
	t.Run("no input folder", func(t *testing.T) {
		t.Parallel()
		l := newLine(t)
		l.do(copyToTable, exitFailed, l.args("--conf", "input="+l.path("nowhere"))...)
		l.wantErr("pipe: flow copy: source readings: file: folder " + l.path("nowhere") + " does not exist")
	})
	t.Run("panic in a flow function", func(t *testing.T) {
		t.Parallel()
		l := newLine(t)
		l.do(panicking, exitFailed, "run", "--checkpoint", l.path("checkpoint"))
		l.wantErr("pipe: flow bad: the flow function panicked: flow function\n", "flow_test.go")
	})
	t.Run("fork without a checkpoint", func(t *testing.T) {
		t.Parallel()
		l := newLine(t)
		l.do(copyToTable, exitFailed, l.args("--fork")...)
		l.wantErr("there is no checkpoint to fork")
	})
}

func TestSecondInstance(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	c, err := checkpoint.Open(l.path("checkpoint"), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.do(copyToTable, exitLocked, l.args()...)
	l.wantErr(fmt.Sprintf("pipe: checkpoint %s is in use by process %d", l.path("checkpoint"), os.Getpid()))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	l.do(copyToTable, exitDone, l.args()...)
}

// A program that does not fit its checkpoint or its table is refused until a
// person has chosen; the one that fits goes on.
func TestChangedProgram(t *testing.T) {
	t.Parallel()
	const hint = "\nhint: nothing was changed; restore what the checkpoint was made with (the declarations and their tws.lock.json), or run with a fresh --checkpoint, a fresh --tables and fresh topics: all output is written again\n"
	for name, c := range map[string]struct {
		before, after func(*tws.Pipeline)
		want          []string
	}{
		"processor": {countToTable, recountToTable, []string{"pipe: flow count: ", "processor recounter does not fit its stored state", hint}},
		"target":    {copyToTable, copyToOther, []string{"pipe: flow copy: ", "target table copies, the flow now writes table other", hint}},
		"columns":   {copyToTable, narrowToTable, []string{"pipe: flow copy: ", "column name (string) of the table is not in the row type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			l.feed("a.jsonl", 0, 2)
			l.do(c.before, exitDone, l.args()...)
			l.do(c.after, exitUnfit, l.args()...)
			l.wantErr(c.want...)
			l.do(c.before, exitDone, l.args()...)
			l.do(c.after, exitDone, l.args("--checkpoint", l.path("fresh"), "--tables", l.path("fresh tables"))...)
		})
	}
}

// Another folder of tables than the checkpoint's is asked about, whether or not
// the last epoch could be the table's first.
func TestWrongTables(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	for n := range 3 {
		l.feed(fmt.Sprintf("%d.jsonl", n), n, n+1)
		l.do(copyToTable, exitDone, l.args()...)
		l.do(copyToTable, exitUnfit, l.args("--tables", l.path("wrong"))...)
		l.wantErr(fmt.Sprintf("pipe: flow copy: table copies: epoch %d is decided but not published: ", n+1),
			"folder "+l.path("wrong")+"/copies has nothing of ", ": is it the right ", "--tables")
		for _, twice := range []string{"table copies: ", "is decided", l.path("wrong") + "/copies has"} {
			if got := strings.Count(l.err.String(), twice); got != 1 {
				t.Errorf("stderr says %q %d times:\n%s", twice, got, l.err.String())
			}
		}
	}
	l.do(copyToTable, exitDone, l.args()...)
	l.wantRows("copies", upTo(3))
}

// A new checkpoint reads everything again, into a table that has it: that is
// said, once.
func TestNewCheckpointOfAUsedTable(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.feed("a.jsonl", 0, 2)
	l.do(copyToTable, exitDone, l.args("--quiet")...)
	again := l.args("--quiet", "--checkpoint", l.path("new"))
	l.do(copyToTable, exitDone, again...)
	l.wantErr("level=WARN", "another checkpoint", "go on with the old checkpoint", "--tables", "table=copies", "flow=copy")
	l.feed("b.jsonl", 2, 3)
	l.do(copyToTable, exitDone, again...)
	if l.err.String() != "" {
		t.Errorf("the second run with the checkpoint says:\n%s", l.err.String())
	}
	l.do(copyToTable, exitDone, l.args("--quiet", "--checkpoint", l.path("third"), "--tables", l.path("fresh"))...)
	if l.err.String() != "" {
		t.Errorf("a run with fresh folders says:\n%s", l.err.String())
	}
}

// A copy of a checkpoint that went on is refused; --fork makes it a pipeline of
// its own.
func TestCopiedCheckpoint(t *testing.T) {
	t.Parallel()
	for epochs := range 3 {
		t.Run(fmt.Sprintf("copied after %d epochs", epochs), func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			l.do(copyToTable, exitDone, l.args()...)
			for n := range epochs {
				l.feed(fmt.Sprintf("%d.jsonl", n), 10*n, 10*n+2)
				l.do(copyToTable, exitDone, l.args()...)
			}
			if err := os.CopyFS(l.path("copy"), os.DirFS(l.path("checkpoint"))); err != nil {
				t.Fatal(err)
			}
			l.feed("last.jsonl", 100, 102)
			l.do(copyToTable, exitDone, l.args()...)
			before := l.rows("copies")

			l.do(copyToTable, exitUnfit, l.args("--checkpoint", l.path("copy"))...)
			l.wantErr("table copies: ", "--fork")
			l.wantRows("copies", before)
			l.do(copyToTable, exitDone, l.args("--checkpoint", l.path("copy"), "--fork")...)
			l.wantRows("copies", append(before, 100, 101))
			l.do(copyToTable, exitDone, l.args("--checkpoint", l.path("copy"))...)
			l.wantRows("copies", append(before, 100, 101))
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	a, b := fmt.Errorf("a"), fmt.Errorf("b")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{a, []string{"a"}},
		{errors.Join(a, b), []string{"a", "b"}},
		{fmt.Errorf("flow x: %w", errors.Join(a, fmt.Errorf("in: %w", errors.Join(a, b)))), []string{"flow x: a", "flow x: in: a", "flow x: in: b"}},
		{fmt.Errorf("%w, then %w", a, b), []string{"a, then b"}},
		{&tws.ProcessorError{Processor: "p", Callback: "c", Key: "1", Stack: []byte("stack"), Err: a}, []string{"tws: p.c, key 1: a\nstack"}},
	} {
		if diff := cmp.Diff(c.want, messages(c.err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.err, diff)
		}
	}
}

// What a person has to choose is not tried again by a supervisor: the sink has
// moved on, or has lost its record, or the source has lost rows.
func TestUnfit(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("source s: %w", stream.ErrLostData)
	for _, err := range []error{&stream.SinkMovedError{Sink: "topic a"}, &stream.RecordMissingError{Sink: "topic a", Where: "topic b"}, lost} {
		if got := exitCode(fmt.Errorf("flow x: %w", err)); got != exitUnfit {
			t.Errorf("%v: exit code %d, want %d", err, got, exitUnfit)
		}
	}
}

// B-92: a first signal lets the epoch in progress finish, within --grace; what
// cannot finish takes no effect.
func TestStopWithinGrace(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	begun := make(chan struct{})
	go func() {
		<-begun
		l.signals <- syscall.SIGTERM
	}()
	l.do(slowToConsole(begun), exitFailed, "run", "--checkpoint", l.path("checkpoint"), "--grace", "1ms")
	l.wantErr("SIGTERM: stopping after the epochs in progress; once more stops at once",
		"pipe: an epoch did not finish within the grace period of 1ms; the next start settles it")
	if got := decisions(t, l.path("checkpoint"), "slow"); len(got) != 0 {
		t.Errorf("decided epochs: %q", got)
	}
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	begun := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-begun
		l.signals <- os.Interrupt
		l.signals <- syscall.SIGTERM
		if code := <-l.exited; code != 143 {
			t.Errorf("exit code %d, want 143", code)
		}
		cancel()
	}()
	// exit does not end a test, so the epoch is ended by its grace.
	execute(ctx, l.env, slowToConsole(begun), []string{"run", "--checkpoint", l.path("checkpoint"), "--grace", "1s"})
	l.wantErr("SIGINT: stopping", "SIGTERM: stopped at once; epochs that were in progress run again at the next start")
}

// A signal while the pipeline waits for input ends it with success.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.signals <- syscall.SIGTERM
	l.do(copyToTable, exitDone, l.args("--trigger", "1h")...)
	l.wantErr("SIGTERM: stopping", "msg=stopped epochs=0")
}

// decisions lists the decided epochs of a flow.
func decisions(t *testing.T, dir, flow string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "flows", flow, "decisions", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
