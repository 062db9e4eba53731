package app

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// withTables returns a world whose pipeline has written two epochs.
func withTables(t *testing.T) *line {
	l := newLine(t)
	l.feed("a.jsonl", 0, 2)
	l.do(copyToTable, exitDone, l.args()...)
	l.feed("b.jsonl", 2, 3)
	l.do(copyToTable, exitDone, l.args()...)
	return l
}

func TestTableShow(t *testing.T) {
	t.Parallel()
	l := withTables(t)
	want := "{\"id\":0,\"name\":\"n0\"}\n{\"id\":1,\"name\":\"n1\"}\n{\"id\":2,\"name\":\"n2\"}\n"
	for _, args := range [][]string{
		{"table", "show", "copies", "--tables", l.path("tables")},
		{"table", "show", "--tables=" + l.path("tables"), "copies"},
		{"table", "show", "--tables=" + l.path("tables"), "--", "copies"},
	} {
		l.do(nil, exitDone, args...)
		if l.out.String() != want || l.err.String() != "" {
			t.Errorf("%q: stdout %q, want %q; stderr %q", args, l.out.String(), want, l.err.String())
		}
	}
}

// variable is what differs from run to run in a description.
var variable = regexp.MustCompile(`(bytes +|folder +|checkpoint )[^ ,\n]+`)

func steady(text string) string { return variable.ReplaceAllString(text, "${1}*") }

func TestTableList(t *testing.T) {
	t.Parallel()
	l := withTables(t)
	if err := os.Mkdir(filepath.Join(l.path("tables"), "no-table"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.do(nil, exitDone, "table", "list", "--tables", l.path("tables"))
	if want := regexp.MustCompile(`^TABLE +ROWS +BYTES +VERSION +COMMENT\ncopies +3 +\d+ +2 +Copies of readings\.\n$`); !want.MatchString(l.out.String()) {
		t.Errorf("stdout:\n%s", l.out.String())
	}
}

func TestTableDescribe(t *testing.T) {
	t.Parallel()
	l := withTables(t)
	l.do(nil, exitDone, "table", "describe", "copies", "--tables", l.path("tables"))
	golden(t, "describe.txt", steady(l.out.String()))
}

func TestTableErrors(t *testing.T) {
	t.Parallel()
	l := withTables(t)
	l.do(nil, exitFailed, "table", "show", "copise", "--tables", l.path("tables"))
	l.wantErr("pipe: there is no table copise; the only table in " + l.path("tables") + " is copies\n")
	l.do(nil, exitUsage, "table", "show", "--tables", l.path("tables"))
	l.wantErr("pipe: table show needs NAME; the only table in " + l.path("tables") + " is copies\nhint: pipe table show --help says")
	l.do(countToTable, exitDone, l.args("--checkpoint", l.path("other"))...)
	l.do(nil, exitFailed, "table", "show", "copise", "--tables", l.path("tables"))
	l.wantErr("pipe: there is no table copise; the tables in " + l.path("tables") + " are copies, counts, did you mean copies?\n")
	l.do(nil, exitUsage, "table", "describe", "--tables="+l.path("tables"))
	l.wantErr("pipe: table describe needs NAME; the tables in " + l.path("tables") + " are copies, counts\n")
	l.do(nil, exitUsage, "table", "show", "--tables", l.path("nowhere"))
	l.wantErr("pipe: table show needs NAME; there is no folder " + l.path("nowhere") + ": name the folder")
	l.do(nil, exitUsage, "table", "show", "--tables", l.path("in"))
	l.wantErr("pipe: table show needs NAME; there is no table in " + l.path("in") + "\n")
	l.do(nil, exitFailed, "table", "describe", "../tables/copies", "--tables", l.path("tables"))
	l.wantErr("there is no table ../tables/copies")
	l.do(nil, exitFailed, "table", "list", "--tables", l.path("nowhere"))
	l.wantErr("there is no folder " + l.path("nowhere"))
	l.do(nil, exitFailed, "table", "show", "x", "--tables", l.path("in"))
	l.wantErr("there is no table in " + l.path("in"))
}

// A table that cannot be read is an error, and does not hide the others.
func TestTableListDamaged(t *testing.T) {
	t.Parallel()
	l := withTables(t)
	log := filepath.Join(l.path("tables"), "broken", "_delta_log")
	if err := os.MkdirAll(log, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(log, "00000000000000000000.json"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.do(nil, exitFailed, "table", "list", "--tables", l.path("tables"))
	l.wantErr("broken")
	if !regexp.MustCompile(`(?m)^copies +3 `).MatchString(l.out.String()) {
		t.Errorf("stdout:\n%s", l.out.String())
	}
}
