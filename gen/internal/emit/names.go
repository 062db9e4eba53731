package emit

import (
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tws-go/tws/gen/internal/plan"
)

// names chooses every identifier of the generated file that is not the user's.
//
// A name in the package block must differ from the user's package-level names
// and from the names under which the user's files import packages (the language
// forbids a name in both blocks). An import alias must not be hidden by a
// package-level name, nor by one of our local variables. A local variable must
// not hide a package-level name or an alias that its function may use; since the
// functions refer to arbitrary types of the user, that means all of them.
type names struct {
	taken   map[string]bool   // names that no package-level declaration of ours may have
	chosen  map[string]string // wanted -> chosen package-level names
	scope   map[string]bool   // names that no local variable and no alias may have
	imports map[string]importAs
}

// importAs says how the generated file imports a package.
type importAs struct {
	alias string
	// explicit is true if the alias is written in the import declaration.
	explicit bool
}

func newNames(p *plan.Package) *names {
	n := &names{
		taken:   map[string]bool{},
		chosen:  map[string]string{},
		scope:   map[string]bool{},
		imports: map[string]importAs{},
	}
	for _, name := range types.Universe.Names() {
		n.taken[name], n.scope[name] = true, true
	}
	for _, name := range p.Types.Scope().Names() {
		n.taken[name], n.scope[name] = true, true
	}
	for i := range p.Types.Scope().NumChildren() {
		for _, name := range p.Types.Scope().Child(i).Names() {
			n.taken[name] = true
		}
	}
	n.scope["Register"] = true
	for _, proc := range p.Processors {
		for _, s := range proc.States {
			n.choose(accessorName(proc, s))
			n.choose(newName(proc, s))
			n.choose(stateName(proc, s))
		}
	}
	n.importAll(p)
	return n
}

// choose returns the package-level name for the wanted one: itself, or with
// underscores appended if the user has taken it.
func (n *names) choose(want string) string {
	if name, ok := n.chosen[want]; ok {
		return name
	}
	name := want
	for n.taken[name] {
		name += "_"
	}
	n.chosen[want] = name
	n.taken[name], n.scope[name] = true, true
	return name
}

// importAll settles the alias of every package that the file may import, in
// order of path.
func (n *names) importAll(p *plan.Package) {
	used := map[string]string{
		runtimePath: "tws", codecPath: "codec", schemasPath: "schemas",
		"fmt": "fmt", "slices": "slices", "strconv": "strconv", "time": "time",
	}
	walkPackages(p, func(pkg *types.Package) { used[pkg.Path()] = pkg.Name() })
	delete(used, p.Path)
	busy := map[string]bool{}
	for _, name := range localNames {
		busy[name] = true
	}
	theirs := userAliases(p.Types)
	for _, importPath := range slices.Sorted(maps.Keys(used)) {
		name := used[importPath]
		alias := n.alias(name, theirs[importPath], busy)
		busy[alias] = true
		n.imports[importPath] = importAs{alias: alias, explicit: alias != name || alias != pathName(importPath)}
	}
	for _, im := range n.imports {
		n.scope[im.alias] = true
	}
}

// alias returns the user's alias, the package's name, or that with a number:
// the first that is free. It is in lower case, and so no package-level name of
// ours, which have capitals.
func (n *names) alias(name, users string, busy map[string]bool) string {
	free := func(alias string) bool {
		return alias != "" && !n.scope[alias] && !busy[alias] && !token.IsKeyword(alias)
	}
	name = strings.ToLower(name)
	if users = strings.ToLower(users); free(users) {
		return users
	}
	alias := name
	for i := 2; !free(alias); i++ {
		alias = name + strconv.Itoa(i)
	}
	return alias
}

// userAliases returns the names under which the user's files import packages. If
// files differ, the name that sorts first is taken.
func userAliases(pkg *types.Package) map[string]string {
	aliases := map[string]string{}
	for i := range pkg.Scope().NumChildren() {
		file := pkg.Scope().Child(i)
		for _, name := range file.Names() {
			im, ok := file.Lookup(name).(*types.PkgName)
			if !ok {
				continue
			}
			importPath := im.Imported().Path()
			if old := aliases[importPath]; old == "" || name < old {
				aliases[importPath] = name
			}
		}
	}
	return aliases
}

var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// pathName is the package name that an import path suggests to a reader.
func pathName(importPath string) string {
	return path.Base(majorVersion.ReplaceAllString(importPath, ""))
}

// localNames are the local variables of generated functions, beside the indexes
// and elements of nested lists.
var localNames = []string{
	"a", "b", "c", "dst", "e", "err", "i", "j", "k", "l", "n", "ok", "p", "r", "seen", "src", "start", "v", "w",
}

// locals are the names of local variables, the same all over the file.
type locals struct {
	n *names
	// A pipeline, a binder, an accessor, a copy, the bytes written to and read
	// from, a reader, a value, a key, a writer of columns.
	pipeline, binder, accessor, copied, dst, src, r, v, k, w string

	count, ok, err, seen, start string
}

func (n *names) locals() locals {
	return locals{
		n:        n,
		pipeline: n.local("p"), binder: n.local("b"), accessor: n.local("a"), copied: n.local("c"),
		dst: n.local("dst"), src: n.local("src"), r: n.local("r"), v: n.local("v"), k: n.local("k"), w: n.local("w"),
		count: n.local("n"), ok: n.local("ok"), err: n.local("err"), seen: n.local("seen"), start: n.local("start"),
	}
}

// local returns a name for a local variable.
func (n *names) local(want string) string {
	for n.scope[want] {
		want += "_"
	}
	return want
}

// index returns the loop variable for lists within depth other lists.
func (l locals) index(depth int) string {
	if depth < 3 {
		return l.n.local([]string{"i", "j", "k"}[depth])
	}
	return l.n.local("i" + strconv.Itoa(depth+1))
}

// elem returns the variable for an element of a list within depth other lists.
func (l locals) elem(depth int) string {
	if depth == 0 {
		return l.n.local("e")
	}
	return l.n.local("e" + strconv.Itoa(depth+1))
}

// accessorName is the wanted name of the type behind a state field:
// heartbeatSensor for Heartbeat.Sensor.
func accessorName(proc *plan.Processor, s *plan.State) string {
	return lowerFirst(proc.GoName) + upperFirst(s.Field)
}

// newName is the wanted name of the accessor's constructor.
func newName(proc *plan.Processor, s *plan.State) string {
	return "new" + upperFirst(proc.GoName) + upperFirst(s.Field)
}

// stateName is the wanted name of the function that describes the state.
func stateName(proc *plan.Processor, s *plan.State) string {
	return "tws" + upperFirst(proc.GoName) + upperFirst(s.Field) + "State"
}

// lowerFirst returns name with its leading capitals in lower case, except one
// that begins a word: HTTPServer becomes httpServer.
func lowerFirst(name string) string {
	runes := []rune(name)
	for i, c := range runes {
		if !unicode.IsUpper(c) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(c)
	}
	return string(runes)
}

func upperFirst(name string) string {
	c, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(c)) + name[size:]
}
