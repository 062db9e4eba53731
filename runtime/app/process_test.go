package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is this test binary, run as a pipeline binary.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner // of its standard error
	seen  strings.Builder
}

func startProcess(t *testing.T, pipeline string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asBinary+"="+pipeline)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{t: t, cmd: cmd, lines: bufio.NewScanner(stderr)}
}

// await reads on until a line contains text.
func (p *process) await(text string) {
	p.t.Helper()
	for p.lines.Scan() {
		p.seen.WriteString(p.lines.Text() + "\n")
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	p.t.Fatalf("the process never said %q:\n%s", text, p.seen.String())
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code, -1 if a signal ended the process.
func (p *process) wait() int {
	p.t.Helper()
	for p.lines.Scan() {
		p.seen.WriteString(p.lines.Text() + "\n")
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// B-92: SIGTERM ends the process after its epoch, and the next run goes on from
// there as if nothing had been.
func TestProcessStops(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			l.feed("a.jsonl", 0, 100)
			p := startProcess(t, "copy", l.args("--store", "mem", "--trigger", "1ms", "--conf", "tws.max-rows=1")...)
			p.await("msg=epoch")
			p.signal(s)
			if code := p.wait(); code != exitDone {
				t.Fatalf("exit code %d:\n%s", code, p.seen.String())
			}
			if !strings.Contains(p.seen.String(), "msg=stopped epochs=") {
				t.Errorf("no summary:\n%s", p.seen.String())
			}
			l.do(copyToTable, exitDone, l.args()...)
			l.wantRows("copies", upTo(100))
		})
	}
}

// B-92: a second signal ends the process in the middle of an epoch; a second
// instance is refused until then, and the checkpoint is of use afterwards.
func TestProcessEndsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	args := []string{"run", "--store", "mem", "--checkpoint", l.path("checkpoint")}
	p := startProcess(t, "slow", args...)
	p.await("reading")
	l.do(slowToConsole(nil), exitLocked, args...)
	l.wantErr("is in use by process")
	p.signal(syscall.SIGTERM)
	p.await("SIGTERM: stopping after the epochs in progress")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 143 {
		t.Fatalf("exit code %d:\n%s", code, p.seen.String())
	}
	if got := decisions(t, l.path("checkpoint"), "slow"); len(got) != 0 {
		t.Errorf("decided epochs: %q", got)
	}
	p = startProcess(t, "slow", args...)
	p.await("an epoch was planned but not decided; it runs again as planned")
	p.await("reading")
	p.signal(os.Interrupt)
	p.await("SIGINT: stopping")
	p.signal(os.Interrupt)
	if code := p.wait(); code != 130 {
		t.Fatalf("exit code %d:\n%s", code, p.seen.String())
	}
}
