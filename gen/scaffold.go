package gen

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/tws-go/tws/gen/internal/plan"
)

// scaffold returns the main function of a package's pipeline binary, once: if
// the package has flows and its folder cmd/<package> has no Go file yet.
func scaffold(p *plan.Package) (File, bool) {
	flows := len(p.Flows) > 0 || slices.ContainsFunc(p.Tables, func(t *plan.Table) bool { return t.Func })
	dir := filepath.Join(p.Dir, "cmd", p.Name)
	if !flows || p.Name == "main" || hasGoFile(dir) {
		return File{}, false
	}
	return File{Path: filepath.Join(dir, "main.go"), Kind: Scaffold, Content: mainSource(p)}, true
}

func hasGoFile(dir string) bool {
	found, err := filepath.Glob(filepath.Join(plan.GlobEscape(dir), "*.go"))
	return err != nil || len(found) > 0
}

func mainSource(p *plan.Package) []byte {
	alias := ""
	if path.Base(p.Path) != p.Name {
		alias = p.Name + " "
	}
	name := p.Name
	if name == "app" {
		name, alias = "flows", "flows "
	}
	imports := []string{
		fmt.Sprintf("%s%q", alias, p.Path),
		fmt.Sprintf("%q", plan.RuntimePath+"/app"),
	}
	slices.SortFunc(imports, func(a, b string) int {
		return comparePaths(a, b)
	})
	return fmt.Appendf(nil, `// Command %[1]s runs the pipeline of package %[1]s.
//
// tws-gen wrote this file once; it is yours to change.
package main

import (
	%[2]s
	%[3]s
)

func main() {
	app.Main(%[4]s.Register)
}
`, p.Name, imports[0], imports[1], name)
}

// comparePaths orders import specs as gofmt does: by path, whatever their alias.
func comparePaths(a, b string) int {
	quoted := func(s string) string { return s[slices.Index([]byte(s), '"'):] }
	switch a, b := quoted(a), quoted(b); {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
