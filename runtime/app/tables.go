package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tws-go/tws/runtime/table"
)

// tableFolder is the folder of the tables that a command looks at.
type tableFolder struct{ dir string }

func tableCommand() *command {
	return &command{
		name:  "table",
		short: "look at the streaming tables",
		about: "Looks at the streaming tables that the pipeline has written. Tables may be read while the pipeline runs.",
		commands: []*command{
			tableListCommand(), tableShowCommand(), tableDescribeCommand(),
		},
		examples: []example{
			{"table list", "see which tables there are"},
			{"table show NAME", "print the rows of one"},
		},
	}
}

func (f *tableFolder) options() []option {
	f.dir = defaultTables
	return []option{{"tables", "DIR", "the folder of the tables (default " + defaultTables + ")", text(&f.dir)}}
}

func tableListCommand() *command {
	f := &tableFolder{}
	return &command{
		name:     "list",
		short:    "list the tables",
		about:    "Lists the tables with their rows, size in bytes, version and description.",
		options:  f.options(),
		examples: []example{{"table list --tables /data/tables", "list the tables of another folder"}},
		run:      func(_ context.Context, e *env, _ []string) error { return f.list(e) },
	}
}

func tableShowCommand() *command {
	f := &tableFolder{}
	return &command{
		name:    "show",
		short:   "print a table's rows as JSON lines",
		about:   "Prints the rows of a table as JSON, one on each line, in the order in which they were committed.",
		args:    []string{"NAME"},
		known:   f.known,
		options: f.options(),
		examples: []example{
			{"table show NAME", "print all rows"},
			{"table show NAME | tail -n 5", "print the last five"},
		},
		run: func(ctx context.Context, e *env, args []string) error { return f.show(ctx, e, args[0]) },
	}
}

func tableDescribeCommand() *command {
	f := &tableFolder{}
	return &command{
		name:     "describe",
		short:    "print a table's columns, size and writers",
		about:    "Prints a table's columns, its size, and how far each flow has written it.",
		args:     []string{"NAME"},
		known:    f.known,
		options:  f.options(),
		examples: []example{{"table describe NAME", "see the columns of a table"}},
		run:      func(_ context.Context, e *env, args []string) error { return f.describe(e, args[0]) },
	}
}

// names returns the tables in the folder, sorted.
func (f *tableFolder) names() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: name the folder of the tables with --tables; a pipeline creates it when it first runs", f.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if isTable(filepath.Join(f.dir, entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func isTable(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "_delta_log"))
	return err == nil && info.IsDir()
}

// find returns the folder of a table.
func (f *tableFolder) find(name string) (string, error) {
	names, err := f.names()
	if err != nil {
		return "", err
	}
	if slices.Contains(names, name) {
		return filepath.Join(f.dir, name), nil
	}
	guess := ""
	if len(names) > 1 {
		guess = didYouMean(name, names)
	}
	return "", fmt.Errorf("there is no table %s; %s%s", name, f.contents(names), guess)
}

// known says which tables there are, or why that cannot be said.
func (f *tableFolder) known() string {
	names, err := f.names()
	if err != nil {
		return err.Error()
	}
	return f.contents(names)
}

// contents says which tables are in the folder.
func (f *tableFolder) contents(names []string) string {
	switch len(names) {
	case 0:
		return "there is no table in " + f.dir
	case 1:
		return "the only table in " + f.dir + " is " + names[0]
	}
	return "the tables in " + f.dir + " are " + strings.Join(names, ", ")
}

func (f *tableFolder) list(e *env) error {
	names, err := f.names()
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "TABLE\tROWS\tBYTES\tVERSION\tCOMMENT")
	var errs []error
	for _, name := range names {
		info, err := table.Describe(filepath.Join(f.dir, name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%s\n", name, info.Rows, info.Bytes, info.Version, firstLine(info.Comment))
	}
	return errors.Join(append(errs, out.Flush())...)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (f *tableFolder) show(ctx context.Context, e *env, name string) error {
	dir, err := f.find(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(e.stdout, 64<<10)
	err = table.ReadRows(ctx, dir, func(row []byte) error {
		if _, err := out.Write(row); err != nil {
			return err
		}
		return out.WriteByte('\n')
	})
	return errors.Join(err, out.Flush())
}

func (f *tableFolder) describe(e *env, name string) error {
	dir, err := f.find(name)
	if err != nil {
		return err
	}
	info, err := table.Describe(dir)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "table\t%s\n", name)
	if info.Comment != "" {
		fmt.Fprintf(out, "comment\t%s\n", strings.ReplaceAll(info.Comment, "\n", "\n\t"))
	}
	fmt.Fprintf(out, "folder\t%s\nversion\t%d\nfiles\t%d\nrows\t%d\nbytes\t%d\n", dir, info.Version, info.Files, info.Rows, info.Bytes)
	fmt.Fprintln(out, "columns")
	for _, c := range info.Columns {
		fmt.Fprintf(out, "  %s\t%s\n", c.Name, c.Type)
	}
	fmt.Fprintln(out, "written by")
	for _, id := range slices.Sorted(maps.Keys(info.Txns)) {
		fmt.Fprintf(out, "  %s\n", writer(id, info.Txns[id]))
	}
	return out.Flush()
}

// writer says how far a writer has come. The writers of ours are called
// tws/<checkpoint>/<flow>/<partition>.
func writer(id string, version int64) string {
	if p := strings.Split(id, "/"); len(p) == 4 && p[0] == "tws" {
		return fmt.Sprintf("flow %s of checkpoint %s, up to epoch %d", p[2], p[1], version)
	}
	return fmt.Sprintf("%s, up to version %d", id, version)
}
