package app

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	tws "github.com/tws-go/tws/runtime"
)

var update = flag.Bool("update", false, "re-record golden files")

// asBinary makes the test binary behave as a pipeline binary, for tests that
// send signals to a process.
const asBinary = "TWS_APP_TEST_PIPELINE"

func TestMain(m *testing.M) {
	switch os.Getenv(asBinary) {
	case "copy":
		Main(copyToTable)
	case "slow":
		Main(slowToConsole(nil))
	}
	os.Exit(m.Run())
}

// line is a command line to run, with the world around it.
type line struct {
	t        *testing.T
	dir      string
	env      *env
	out, err buffer
	signals  chan os.Signal
	exited   chan int // what env.exit was called with
}

// buffer is text that is written and read by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *buffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *buffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// newLine returns a world with a folder "in" for input, no terminal, and the
// memory store.
func newLine(t *testing.T) *line {
	l := &line{t: t, dir: t.TempDir(), signals: make(chan os.Signal, 2), exited: make(chan int, 1)}
	if err := os.Mkdir(l.path("in"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.env = system()
	l.env.name = "pipe"
	l.env.stdout, l.env.stderr = &l.out, &l.err
	l.env.columns = func() int { return 0 }
	l.env.shared = func() bool { return false }
	l.env.signals = func() (<-chan os.Signal, func()) { return l.signals, func() {} }
	l.env.exit = func(code int) { l.exited <- code }
	l.env.stores = []storeKind{memStore}
	return l
}

func (l *line) path(name string) string { return filepath.Join(l.dir, name) }

// feed adds a file of readings with the ids from to to-1.
func (l *line) feed(name string, from, to int) {
	l.t.Helper()
	var b strings.Builder
	for id := from; id < to; id++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"n%d"}`+"\n", id, id)
	}
	l.write(name, b.String())
}

func (l *line) write(name, content string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.path("in"), name), []byte(content), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// args returns a run command line with the world's folders.
func (l *line) args(more ...string) []string {
	return append([]string{"run", "--checkpoint", l.path("checkpoint"), "--tables", l.path("tables"), "--conf", "input=" + l.path("in")}, more...)
}

// do runs a command line and requires an exit code. Output is that of this line
// only.
func (l *line) do(register func(*tws.Pipeline), code int, args ...string) {
	l.t.Helper()
	l.out, l.err = buffer{}, buffer{}
	l.env.stdout, l.env.stderr = &l.out, &l.err
	if got := execute(context.Background(), l.env, register, args); got != code {
		l.t.Fatalf("%q: exit code %d, want %d; stderr:\n%s", args, got, code, l.err.String())
	}
}

func (l *line) wantErr(parts ...string) {
	l.t.Helper()
	for _, p := range parts {
		if !strings.Contains(l.err.String(), p) {
			l.t.Errorf("stderr has no %q:\n%s", p, l.err.String())
		}
	}
}

// rows returns the ids of a table's rows, in order.
func (l *line) rows(table string) []int64 {
	l.t.Helper()
	l.do(nil, exitDone, "table", "show", table, "--tables", l.path("tables"))
	var ids []int64
	for d := json.NewDecoder(strings.NewReader(l.out.String())); ; {
		var row struct{ ID int64 }
		if err := d.Decode(&row); err == io.EOF {
			return ids
		} else if err != nil {
			l.t.Fatal(err)
		}
		ids = append(ids, row.ID)
	}
}

func upTo(n int64) []int64 {
	var ids []int64
	for id := range n {
		ids = append(ids, id)
	}
	return ids
}

func (l *line) wantRows(table string, want []int64) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.rows(table)); diff != "" {
		l.t.Errorf("table %s (-want +got):\n%s", table, diff)
	}
}

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; record it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"help":                {"--help"},
		"help_run":            {"run", "--help"},
		"help_table":          {"table", "-h"},
		"help_table_list":     {"help", "table", "list"},
		"help_table_show":     {"table", "show", "--help", "ignored", "--unknown"},
		"help_table_describe": {"table", "describe", "-help"},
		"help_version":        {"help", "version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			l.do(nil, exitDone, args...)
			golden(t, name+".txt", l.out.String())
			if l.err.String() != "" {
				t.Errorf("stderr: %s", l.err.String())
			}
		})
	}
}

// Without a command there is nothing to do, which is no success.
func TestGroupWithoutCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"table"}} {
		l := newLine(t)
		l.do(nil, exitUsage, args...)
		l.wantErr("Usage:\n  pipe ", "Commands:\n")
		if l.out.String() != "" {
			t.Errorf("%q: stdout: %s", args, l.out.String())
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rnu"}, `pipe: unknown command "rnu", did you mean run?` + "\nhint: pipe --help says what it takes"},
		{[]string{"frobnicate"}, `pipe: unknown command "frobnicate"` + "\n"},
		{[]string{"help", "tabel"}, `unknown command "tabel", did you mean table?`},
		{[]string{"table", "lst"}, `unknown command "table lst", did you mean list?` + "\nhint: pipe table --help"},
		{[]string{"--checkpoint", "x", "run"}, "unknown flag --checkpoint: flags other than --help follow a command"},
		{[]string{"run", "--chekpoint", "x"}, "pipe: unknown flag --chekpoint, did you mean --checkpoint?\nhint: pipe run --help"},
		{[]string{"run", "-max-epoch=3"}, "unknown flag --max-epoch, did you mean --max-epochs?"},
		{[]string{"run", "--zzz"}, "unknown flag --zzz\n"},
		{[]string{"run", "extra"}, `unexpected argument "extra"`},
		{[]string{"run", "--", "--fork"}, `unexpected argument "--fork"`},
		{[]string{"run", "--checkpoint"}, "--checkpoint needs a value: --checkpoint=DIR"},
		{[]string{"run", "--checkpoint", "--fork"}, "--checkpoint needs a value: --checkpoint=DIR"},
		{[]string{"run", "--checkpoint="}, "--checkpoint: the value is empty"},
		{[]string{"run", "--tables", ""}, "--tables: the value is empty"},
		{[]string{"run", "--in-doubt", "maybe"}, `want rerun or committed, got "maybe"`},
		{[]string{"run", "--fork=yes"}, "--fork takes no value"},
		{[]string{"run", "--quiet=1"}, "--quiet takes no value"},
		{[]string{"run", "--trigger", "realtime"}, "--trigger: the real-time trigger is not in this version; a short interval"},
		{[]string{"run", "--trigger", "10"}, `--trigger: want available-now or a duration such as 500ms, 10s or 5m, got "10"`},
		{[]string{"run", "--trigger", "-1s"}, `got "-1s"`},
		{[]string{"run", "--trigger=0s"}, `got "0s"`},
		{[]string{"run", "--grace", "soon"}, `--grace: want a duration such as 30s, got "soon"`},
		{[]string{"run", "--max-epochs", "-1"}, `--max-epochs: want a number of epochs, or 0 for no limit, got "-1"`},
		{[]string{"run", "--max-epochs=many"}, `got "many"`},
		{[]string{"run", "--conf", "patience"}, `--conf: want KEY=VALUE, got "patience"`},
		{[]string{"run", "--conf", "=1m"}, `got "=1m"`},
		{[]string{"run", "--conf", "a b=1"}, `got "a b=1"`},
		{[]string{"run", "--log", "xml"}, `--log: want live, text or json, got "xml"`},
		{[]string{"run", "--log", "live"}, "--log live needs a terminal on standard error; use text or json"},
		{[]string{"run", "--store", "disk"}, `--store: want mem, got "disk"`},
		{[]string{"run", "--store", "rocks"}, `--store rocks: this binary was built without RocksDB: run eval "$(go tool tws-gen env)" and build again, or use --store mem`},
		{[]string{"table", "show"}, "table show needs NAME"},
		{[]string{"table", "show", "a", "b"}, `unexpected argument "b"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			l.do(copyToTable, exitUsage, c.args...)
			l.wantErr(c.want, "hint: pipe")
			if l.out.String() != "" {
				t.Errorf("stdout: %s", l.out.String())
			}
		})
	}
}

// Every flag is understood, in each of its spellings, and reaches the pipeline.
func TestRunFlags(t *testing.T) {
	t.Parallel()
	o := &runOptions{conf: map[string]string{}}
	c := &command{commands: []*command{{name: "run", options: o.options(), run: func(context.Context, *env, []string) error { return nil }}}}
	_, err := parse(c, []string{"run", "--checkpoint", "c", "-tables=t", "--trigger", "1m30s", "--store=mem", "--conf", "a=1", "--conf=b=x=y",
		"--conf", "a=2", "--conf", "c=", "-max-epochs", "7", "--fork", "--in-doubt", "rerun", "--grace=5s", "--log", "json", "--quiet"})
	if err != nil {
		t.Fatal(err)
	}
	want := &runOptions{
		checkpoint: "c", tables: "t", trigger: 90 * time.Second, store: "mem",
		conf: map[string]string{"a": "2", "b": "x=y", "c": ""}, maxEpochs: 7, fork: true, inDoubt: "rerun", grace: 5 * time.Second, log: logJSON, quiet: true,
	}
	if diff := cmp.Diff(want, o, cmp.AllowUnexported(runOptions{})); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	known := []string{"run", "table", "version"}
	for word, want := range map[string]string{
		"rnu": ", did you mean run?", "tables": ", did you mean table?", "verison": ", did you mean version?",
		"xyz": "", "": "",
	} {
		if got := didYouMean(word, known); got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
