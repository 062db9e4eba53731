package app

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page reads a page of the documentation.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// firstCells returns what stands in backquotes at the start of the first cell of
// each table row that matches.
func firstCells(text string, pattern string) []string {
	var cells []string
	for _, m := range regexp.MustCompile("(?m)^\\| `("+pattern+")").FindAllStringSubmatch(text, -1) {
		cells = append(cells, m[1])
	}
	slices.Sort(cells)
	return cells
}

// The reference lists the flags, commands and exit codes that there are.
func TestReference(t *testing.T) {
	t.Parallel()
	cli := page(t, "reference/cli.md")
	run := runCommand(nil)
	var flags []string
	for _, o := range run.options {
		flags = append(flags, "--"+o.name)
	}
	slices.Sort(flags)
	_, section, _ := strings.Cut(cli, "## run\n")
	section, _, _ = strings.Cut(section, "### ")
	if diff := cmp.Diff(flags, firstCells(section, "--[a-z-]+")); diff != "" {
		t.Errorf("flags of run in cli.md (-code +page):\n%s", diff)
	}
	for _, c := range commands(nil).commands {
		for _, sub := range append([]*command{c}, c.commands...) {
			line := "\nheartbeat " + strings.Join(append(nonEmpty(parentOf(c, sub), sub.name), sub.args...), " ")
			if sub.run != nil && !strings.Contains(cli, line) {
				t.Errorf("cli.md has no line %q", line)
			}
		}
	}
	for _, code := range exitCodeNote.lines {
		if !strings.Contains(cli, "\n| "+code.term+" | ") {
			t.Errorf("cli.md has no exit code %s", code.term)
		}
	}
}

func parentOf(c, sub *command) string {
	if c == sub {
		return ""
	}
	return c.name
}

// The reference lists the keys of the engine that there are.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.do(copyToTable, exitUsage, l.args("--conf", "typo=1")...)
	_, list, ok := strings.Cut(l.err.String(), "known keys are ")
	if !ok {
		t.Fatalf("stderr names no keys:\n%s", l.err.String())
	}
	line, _, _ := strings.Cut(list, "\n")
	var keys []string
	for _, key := range strings.Split(line, ", ") {
		if strings.HasPrefix(key, "tws.") {
			keys = append(keys, key)
		}
	}
	if diff := cmp.Diff(keys, firstCells(page(t, "reference/configuration.md"), "tws\\.[a-z-]+")); diff != "" {
		t.Errorf("keys in configuration.md (-code +page):\n%s", diff)
	}
}
