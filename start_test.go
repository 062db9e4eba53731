package tws_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStartPage follows docs/start.md in an empty folder: a module of its own
// that uses this one as it stands. Markers above the page's blocks say what to do
// with them:
//
//	<!-- step: file NAME -->  write the block to the file
//	<!-- step: run -->        run the block with bash
//	<!-- step: output -->     the last lines of what the block before printed
func TestStartPage(t *testing.T) {
	t.Parallel()
	(&page{t: t, file: "docs/start.md"}).follow(8)
}

// page is a page that is being followed.
type page struct {
	t         *testing.T
	file      string
	env       []string                // for the commands, beside the test's own
	other     func(name, text string) // does the steps of a name that is not listed above
	repo, dir string
	printed   string // by the last block that was run
}

// follow does what the page says, in at least so many steps.
func (p *page) follow(least int) {
	p.t.Helper()
	repo, err := filepath.Abs(".")
	if err != nil {
		p.t.Fatal(err)
	}
	p.repo, p.dir = repo, p.t.TempDir()
	steps := 0
	for _, b := range readMarkdown(p.t, p.file).blocks {
		step, ok := strings.CutPrefix(b.marker, "step:")
		if !ok {
			continue
		}
		steps++
		p.step(b, strings.Fields(step))
		if p.t.Failed() {
			return
		}
	}
	if steps < least {
		p.t.Errorf("%s has %d steps: the test looks in the wrong place", p.file, steps)
	}
}

func (p *page) step(b block, words []string) {
	p.t.Helper()
	switch {
	case len(words) == 2 && words[0] == "file":
		if err := os.WriteFile(filepath.Join(p.dir, words[1]), []byte(b.text), 0o666); err != nil {
			p.t.Fatal(err)
		}
	case len(words) == 1 && words[0] == "run":
		p.run(b)
	case len(words) == 1 && words[0] == "output":
		if got := trimLines(p.printed); !strings.Contains(got, trimLines(b.text)) {
			p.t.Errorf("%s:%d: the page promises\n%s\nbut the commands before print\n%s", p.file, b.line, b.text, got)
		}
	case len(words) == 1 && p.other != nil:
		p.other(words[0], b.text)
	default:
		p.t.Fatalf("%s:%d: unknown step %q", p.file, b.line, b.marker)
	}
}

// prelude makes the new module use this one instead of a release. Everything it
// depends on is what this module depends on, and on this machine already.
const prelude = `
export GOPROXY=off
go() {
	if [ "${1-} ${2-}" = "mod init" ]; then
		command go "$@"
		command go mod edit -replace "github.com/tws-go/tws=$TWS_REPO"
		cp "$TWS_REPO/go.sum" .
	else
		command go "$@"
	fi
}
`

func (p *page) run(b block) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", prelude+b.text)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), p.env...), "TWS_REPO="+p.repo, "PWD="+p.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s:%d: %v\n%s", p.file, b.line, err, out)
	}
	p.printed = string(out)
}

// trimLines removes blanks at the ends of lines.
func trimLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
