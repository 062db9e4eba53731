package twstest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tws-go/tws/runtime/internal/spelling"
)

// aTable stands for the name of a table that is not known.
const aTable = "(a table)"

// inputName finds the rows for a source; "" stands for any source of the type.
type inputName struct {
	source string
	row    reflect.Type
}

func (n inputName) compare(other inputName) int {
	return cmp.Or(cmp.Compare(n.source, other.source), cmp.Compare(n.row.String(), other.row.String()))
}

// input is the rows for the sources of one name and type.
type input struct {
	rows any    // *memory.Rows[R]
	used string // the source that reads them
}

// inputs are the rows of a test, and the sources of its flow.
type inputs struct {
	given   map[inputName]*input
	sources map[inputName]bool
	err     error // of a source whose rows are in doubt
}

func newInputs() inputs {
	return inputs{given: map[inputName]*input{}, sources: map[inputName]bool{}}
}

// testError reports a mistake in the test: the flow is not to blame.
type testError struct{ reason string }

func (e *testError) Error() string { return e.reason }

func (in *inputs) doubt(format string, args ...any) {
	if in.err == nil {
		in.err = &testError{fmt.Sprintf(format, args...)}
	}
}

// replace gives a source the test's rows: those for its name, else those for any
// source of its row type.
func (in *inputs) replace(name string, row reflect.Type) any {
	in.sources[inputName{cmp.Or(name, aTable), row}] = true
	if name == "" {
		return in.replaceTable(row)
	}
	found := in.given[inputName{name, row}]
	if found == nil {
		found = in.given[inputName{"", row}]
	}
	if found == nil {
		return nil
	}
	if found.used != "" && found.used != name {
		in.doubt("the sources %q and %q both read %s: say with RowsTo which of them the rows are for", found.used, name, row)
	}
	found.used = name
	return found.rows
}

// replaceTable gives a table whose name is not known the test's rows of its type, if
// there is no doubt which.
func (in *inputs) replaceTable(row reflect.Type) any {
	var found *input
	for name, other := range in.given {
		if name.row != row || other.used != "" && other.used != aTable {
			continue
		}
		if found != nil {
			in.doubt("the flow reads a table of %s, and there are rows for several sources of that type: say with Tables(Register) which table is which", row)
		}
		found = other
	}
	if found == nil {
		return nil
	}
	found.used = aTable
	return found.rows
}

// check returns an error for rows that no source of the flow takes.
func (in *inputs) check() error {
	for _, name := range slices.SortedFunc(maps.Keys(in.given), inputName.compare) {
		if in.given[name].used == "" {
			return &testError{in.unread(name)}
		}
	}
	return nil
}

// unread says that no source takes the rows of that name, and what sources there are.
func (in *inputs) unread(name inputName) string {
	reason := fmt.Sprintf("the flow reads no source of %s", name.row)
	if name.source != "" {
		reason = fmt.Sprintf("the flow reads no source %q of %s", name.source, name.row)
	}
	var names, all []string
	for _, s := range slices.SortedFunc(maps.Keys(in.sources), inputName.compare) {
		if s.source == aTable {
			all = append(all, fmt.Sprintf("a table of %s", s.row))
			continue
		}
		names = append(names, s.source)
		all = append(all, fmt.Sprintf("%q of %s", s.source, s.row))
	}
	if near := spelling.Nearest(name.source, names); near != "" && near != name.source {
		reason += fmt.Sprintf(", did you mean %q?", near)
	}
	return reason + "; it reads " + strings.Join(all, ", ")
}
