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
	repo, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	page := &page{t: t, repo: repo, dir: t.TempDir()}
	for _, b := range readMarkdown(t, "docs/start.md").blocks {
		step, ok := strings.CutPrefix(b.marker, "step:")
		if !ok {
			continue
		}
		page.step(b, strings.Fields(step))
		if t.Failed() {
			return
		}
	}
	if page.steps < 8 {
		t.Errorf("docs/start.md has %d steps: the test looks in the wrong place", page.steps)
	}
}

// page is a page that is being followed.
type page struct {
	t         *testing.T
	repo, dir string
	printed   string // by the last block that was run
	steps     int
}

func (p *page) step(b block, words []string) {
	p.t.Helper()
	p.steps++
	switch {
	case len(words) == 2 && words[0] == "file":
		if err := os.WriteFile(filepath.Join(p.dir, words[1]), []byte(b.text), 0o666); err != nil {
			p.t.Fatal(err)
		}
	case len(words) == 1 && words[0] == "run":
		p.run(b)
	case len(words) == 1 && words[0] == "output":
		if got := trimLines(p.printed); !strings.Contains(got, trimLines(b.text)) {
			p.t.Errorf("docs/start.md:%d: the page promises\n%s\nbut the commands before print\n%s", b.line, b.text, got)
		}
	default:
		p.t.Fatalf("docs/start.md:%d: unknown step %q", b.line, b.marker)
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
	cmd.Env = append(os.Environ(), "TWS_REPO="+p.repo, "PWD="+p.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("docs/start.md:%d: %v\n%s", b.line, err, out)
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
