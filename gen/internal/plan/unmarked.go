package plan

import (
	"go/types"
	"os"
	"path/filepath"
)

// unmarked warns of flows and tables whose directive is missing: a function or
// variable of their form that nothing in the package uses. Nothing is wrong with
// one, a package may offer it to others, so it is worth a warning only where a
// pipeline is or was declared.
func (pl *planner) unmarked() {
	if !pl.annotated() && len(pl.src.Old) == 0 && !pl.hasMain() {
		return
	}
	marked := make(map[string]bool)
	for _, t := range pl.out.Tables {
		marked[t.GoName] = true
	}
	for _, f := range pl.out.Flows {
		marked[f.GoName] = true
	}
	used := make(map[types.Object]bool)
	for _, obj := range pl.src.Info.Uses {
		used[obj] = true
	}
	scope := pl.src.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if used[obj] || marked[name] {
			continue
		}
		switch obj := obj.(type) {
		case *types.Func:
			if _, _, ok := flowSignature(obj.Signature()); ok && obj.Signature().TypeParams().Len() == 0 {
				pl.warn(obj, "put //tws:flow target=X above it, X being the table or sink that its rows go into, or //tws:table, or remove it",
					"function %s has the form of a flow, but no directive, and nothing in the package uses it: it does not run", name)
			}
		case *types.Var:
			if is, _ := runtimeType(obj.Type()); is == tableType {
				pl.warn(obj, "put //tws:table above it, or remove it",
					"variable %s is a tws.StreamingTable without a directive, and nothing in the package uses it: there is no such table", name)
			}
		}
	}
}

func (pl *planner) warn(obj types.Object, fix, message string, args ...any) {
	pl.warnings.Add(pl.src.Position(obj.Pos()), "", fix, message, args...)
}

// hasMain reports whether the package has the main function that is written for
// packages with flows.
func (pl *planner) hasMain() bool {
	_, err := os.Stat(filepath.Join(pl.src.Dir, "cmd", pl.src.Name, "main.go"))
	return err == nil
}
