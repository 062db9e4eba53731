package tws_test

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// importRules says what each package may import: packages of ours by folder,
// others by module, the standard library without being asked. After "|" come
// modules that only its tests may import, beside go-cmp, which any test may; of
// ours, tests may import anything. The indented lines below say why. A package
// without an entry, an entry without a package and a module that an entry allows
// in vain all fail.
//
// ARCHITECTURE.md has the same map with the packages' jobs.
const importRules = `
schemas:
	The model is a leaf: generator and engine both build on it, so it can depend on neither.

codec: | github.com/vmihailenco/msgpack/v5
	Bytes know nothing of what they are for. The msgpack module is the tests' oracle and never ships.

runtime/stream: schemas runtime/internal/spelling
	The contract of sources and sinks. Rows and tables have columns, and schemas is their model
	(docs/internals/decisions/0002-stream-rows-use-the-schema-model.md). A key of a cluster may be misspelt.

runtime/stream/console: runtime/stream
	Sources and sinks know the contract and nothing of the engine that calls them.

runtime/stream/file: runtime/stream
	As above.

runtime/stream/kafka: runtime/stream github.com/twmb/franz-go
	As above. The only package with franz-go, so that only a binary that reads or writes Kafka has it.

runtime/stream/kafka/broker:
	Where a broker for tests is. What its own tests import is behind the build tag kafka_broker, where nobody pays for it.

runtime/stream/memory: runtime/stream
	As above.

runtime/config: runtime/stream go.yaml.in/yaml/v3
	The file's syntax, without its meaning: who connects to a cluster knows that.

runtime/table: runtime/stream runtime/internal/durable schemas github.com/parquet-go/parquet-go github.com/google/uuid github.com/zeebo/xxh3
	A sink like any other, which happens to write Parquet. Only here does Parquet come in.

runtime/internal/durable: golang.org/x/sys
	Put-if-absent, once for all who need it. x/sys has renameat2, which the standard library lacks.

runtime/internal/spelling: github.com/agnivade/levenshtein
	Which word a misspelt one was meant to be, for all messages of the runtime. The distance between words is not ours to
	write again: the module is small, MIT, and needs no other.

runtime/store: github.com/zeebo/xxh3
	The interface and the layout of keys. The hash that key groups are made by is part of the format.

runtime/store/internal/stage: runtime/internal/durable
	Directories that appear at once, for both stores.

runtime/store/mem: runtime/store runtime/store/internal/stage runtime/internal/durable github.com/tidwall/btree github.com/zeebo/xxh3
	What a build without RocksDB runs on. The tree is copy-on-write, which scans rest on.

runtime/store/rocks: runtime/store runtime/store/internal/stage runtime/internal/durable github.com/linxGnu/grocksdb github.com/zeebo/xxh3
	The only package with cgo and the only one with grocksdb, so that only a binary that opens RocksDB needs it.

runtime/store/storetest: runtime/store
	The suite that every store passes. It is for tests and knows no store by name.

runtime/checkpoint: runtime/stream runtime/internal/durable schemas github.com/zeebo/xxh3
	What must not be forgotten, as files. It knows what it keeps (positions, staged output, schemas) and not who asks.

runtime/epoch:
	What is seen of an epoch from outside: plain values that options, hooks and tests share.

runtime/internal/engine: runtime/checkpoint runtime/epoch runtime/store runtime/stream schemas github.com/tidwall/btree github.com/zeebo/xxh3 golang.org/x/sync
	Epochs on bytes. It never imports package tws, which adapts typed processors to it: there a cycle would tempt.

runtime: codec schemas runtime/checkpoint runtime/epoch runtime/internal/engine runtime/internal/spelling runtime/store runtime/stream golang.org/x/sync
	What users and generated code import. No store and no source comes with it: a binary pays for what it passes in.

runtime/twstest: runtime runtime/epoch runtime/internal/spelling runtime/store/mem runtime/stream runtime/stream/memory github.com/google/go-cmp github.com/rogpeppe/go-internal
	What users import to test. go-cmp and go-internal/diff show which rows differ.

runtime/app: runtime runtime/checkpoint runtime/config runtime/epoch runtime/internal/spelling runtime/store runtime/store/mem runtime/store/rocks runtime/stream runtime/table golang.org/x/term
	The one place that puts stores, tables and the command line together.

gen/internal/diag: github.com/agnivade/levenshtein
	Diagnostics are what all stages of the generator share. What is misspelt is answered with what was meant.

gen/internal/load: golang.org/x/tools
	The only stage that asks the go command.

gen/internal/annot: gen/internal/diag
	The grammar of annotations, without their meaning.

gen/internal/plan: gen/internal/annot gen/internal/diag gen/internal/load schemas
	All meaning and all checks. It emits nothing, so a plan can be tested without looking at code.

gen/internal/emit: gen/internal/load gen/internal/plan schemas github.com/dave/jennifer golang.org/x/tools
	The only user of jennifer. x/tools formats the imports.

gen: gen/internal/diag gen/internal/emit gen/internal/load gen/internal/plan schemas
	The stages in a row. It writes no file.

gen/internal/testmod: golang.org/x/tools
	Modules for the tests of the generator, which all of its packages make in the same way.

cmd/tws-gen: gen cmd/tws-gen/internal/rocksenv github.com/rogpeppe/go-internal
	Flags, files, exit codes.

cmd/tws-gen/internal/rocksenv:
	Finds and fetches RocksDB, and so must build without it.

examples/...: runtime runtime/... codec schemas examples/... github.com/twmb/franz-go
	An example imports what a user does: the runtime, what generated code needs, and the Kafka client for options that
	tws does not model.

golden/kafka/...: runtime runtime/... codec schemas golden/... | github.com/twmb/franz-go
	What a consumer of topics sees is asked of a client that is not ours.

golden/...: runtime runtime/... gen gen/... codec schemas examples/... golden/... github.com/google/go-cmp | github.com/vmihailenco/msgpack/v5
	The visible contract may look at everything.
`

// reachRules says what packages must not reach, directly or through others.
var reachRules = []struct {
	name, reason string
	from         func(folder string) bool
	never        func(p *goPackage) bool
	tests        bool // the packages' own tests are held to it too
}{
	{
		name:   "the generator builds without RocksDB",
		reason: "go install …/cmd/tws-gen must work on a machine that has neither a C compiler nor RocksDB, since it is what fetches RocksDB",
		from:   func(f string) bool { return under(f, "cmd/tws-gen") || under(f, "gen") },
		never: func(p *goPackage) bool {
			return under(p.folder(), "runtime") || ofModule(p, "github.com/linxGnu/grocksdb") ||
				ofModule(p, "github.com/twmb/franz-go") || !p.Standard && len(p.CgoFiles) > 0
		},
	},
	{
		name:   "the core is pure Go",
		reason: "a binary pays only for the stores and sources that it passes in, and CGO_ENABLED=0 must keep working",
		from: func(f string) bool {
			return f == "runtime" || f == "runtime/twstest" || under(f, "codec") || under(f, "schemas") ||
				under(f, "runtime/internal") || under(f, "runtime/checkpoint") || under(f, "runtime/table") ||
				under(f, "runtime/stream") && !under(f, "runtime/stream/kafka") || f == "runtime/store" || under(f, "runtime/store/mem")
		},
		never: func(p *goPackage) bool {
			return ofModule(p, "github.com/linxGnu/grocksdb") || ofModule(p, "github.com/twmb/franz-go") || !p.Standard && len(p.CgoFiles) > 0
		},
		tests: true, // make race runs them without RocksDB
	},
	{
		name:   "only runtime/store/rocks uses cgo",
		reason: "one package with cgo is one package whose memory has two owners; everything else is checked by the race detector",
		from:   func(f string) bool { return f != "" && f != "runtime/store/rocks" },
		never: func(p *goPackage) bool {
			return p.folder() != "" && p.folder() != "runtime/store/rocks" && len(p.CgoFiles) > 0
		},
	},
	{
		name:   "no testing code in a user's binary",
		reason: "what only tests need, package testing first of all, must not be linked into a pipeline; it belongs in a package made for tests",
		// The generator is not linked into anything, and x/tools/imports, which
		// it formats with, does reach testing.
		from: func(f string) bool {
			return f != "runtime/twstest" && f != "runtime/store/storetest" &&
				(under(f, "runtime") || under(f, "codec") || under(f, "schemas") || under(f, "examples"))
		},
		never: func(p *goPackage) bool { return p.ImportPath == "testing" },
	},
}

func under(folder, root string) bool { return folder == root || strings.HasPrefix(folder, root+"/") }

func ofModule(p *goPackage, module string) bool { return under(p.ImportPath, module) }

// importRule is one entry of importRules.
type importRule struct {
	pattern string
	ours    []string
	modules []string // that the package may import
	tests   []string // that its tests may import too
	reason  string
	used    map[string]bool // modules that were met
	matched bool
}

func parseImportRules(t *testing.T) []*importRule {
	t.Helper()
	var rules []*importRule
	for line := range strings.Lines(importRules) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if text, indented := strings.CutPrefix(line, "\t"); indented {
			r := rules[len(rules)-1]
			r.reason = strings.TrimSpace(r.reason + " " + text)
			continue
		}
		pattern, list, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("import rules: no colon in %q", line)
		}
		r := &importRule{pattern: pattern, used: map[string]bool{}}
		code, tests, _ := strings.Cut(list, "|")
		for _, word := range strings.Fields(code) {
			if strings.Contains(word, ".") && !strings.HasSuffix(word, "...") {
				r.modules = append(r.modules, word)
			} else {
				r.ours = append(r.ours, word)
			}
		}
		r.tests = strings.Fields(tests)
		rules = append(rules, r)
	}
	return rules
}

func matches(pattern, folder string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return under(folder, root)
	}
	return pattern == folder
}

// allows reports whether a package may import another.
func (r *importRule) allows(imported string, test bool) bool {
	if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
		return test || slices.ContainsFunc(r.ours, func(p string) bool { return matches(p, folder) })
	}
	modules := r.modules
	if test {
		if under(imported, "github.com/google/go-cmp") {
			return true
		}
		modules = slices.Concat(modules, r.tests)
	}
	for _, m := range modules {
		if under(imported, m) {
			r.used[m] = true
			return true
		}
	}
	return false
}

// TestImports checks every import of every package of ours.
func TestImports(t *testing.T) {
	t.Parallel()
	rules := parseImportRules(t)
	for env, load := range listed {
		g, err := load()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for _, p := range g.ours() {
			if p.Error != nil && !strings.Contains(p.Error.Err, "build constraints exclude all Go files") {
				t.Errorf("%s: %s: %s", env, p.folder(), p.Error.Err)
			}
			checkImports(t, env, rules, g, p)
		}
	}
	for _, r := range rules {
		if !r.matched {
			t.Errorf("import rules: there is no package %s: delete its entry", r.pattern)
		}
		for _, m := range slices.Concat(r.modules, r.tests) {
			if !r.used[m] {
				t.Errorf("import rules: %s does not import %s: delete it from its entry", r.pattern, m)
			}
		}
		if r.reason == "" {
			t.Errorf("import rules: %s: say why, on a line below", r.pattern)
		}
	}
}

func checkImports(t *testing.T, env string, rules []*importRule, g graph, p *goPackage) {
	t.Helper()
	if p.folder() == "." {
		return // these tests
	}
	i := slices.IndexFunc(rules, func(r *importRule) bool { return matches(r.pattern, p.folder()) })
	if i < 0 {
		t.Errorf("import rules: package %s has no entry: say in imports_test.go what it may import, and why", p.folder())
		return
	}
	r := rules[i]
	r.matched = true
	for _, imported := range p.Imports {
		if !standard(g, imported) && !r.allows(imported, false) {
			broken(t, "imports of "+r.pattern, r.reason, "%s: package %s imports %s", env, p.folder(), short(imported))
		}
	}
	for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
		if !standard(g, imported) && !r.allows(imported, true) {
			broken(t, "imports of "+r.pattern, r.reason, "%s: a test of %s imports %s", env, p.folder(), short(imported))
		}
	}
}

func standard(g graph, imported string) bool {
	if imported == "C" {
		return true // see the rule on cgo
	}
	if p := g[imported]; p != nil {
		return p.Standard
	}
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func short(imported string) string { return strings.TrimPrefix(imported, module+"/") }

// TestReach checks what packages reach through others.
func TestReach(t *testing.T) {
	t.Parallel()
	eachBuild(t, func(t *testing.T, g graph) {
		for _, rule := range reachRules {
			for _, p := range g.ours() {
				if !rule.from(p.folder()) || p.folder() == "." {
					continue
				}
				from := p.Imports
				if rule.tests {
					from = slices.Concat(from, p.TestImports, p.XTestImports)
				}
				if chain := reach(g, p, from, rule.never); chain != nil {
					broken(t, rule.name, rule.reason, "%s reaches %s", p.folder(), strings.Join(chain, " → "))
				}
			}
		}
	})
}

// TestPlainBuild: where the variables of tws-gen env are not set, everything
// builds without RocksDB.
func TestPlainBuild(t *testing.T) {
	t.Parallel()
	g, err := list("CGO_ENABLED=1", "")
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if g[module+"/runtime/store/rocks"] == nil {
		t.Fatal("go list does not know runtime/store/rocks: the test looks in the wrong place")
	}
	needsRocks := func(p *goPackage) bool {
		return ofModule(p, "github.com/linxGnu/grocksdb") || p.folder() != "" && len(p.CgoFiles) > 0
	}
	for _, p := range g.ours() {
		if chain := reach(g, p, slices.Concat(p.Imports, p.TestImports, p.XTestImports), needsRocks); chain != nil {
			broken(t, "a plain build needs no RocksDB",
				"go build, go vet and editors must work in a shell without the variables of tws-gen env (docs/internals/decisions/0010-rocksdb-only-where-asked-for.md)",
				"%s reaches %s: constrain the file by cgo && %s", p.folder(), strings.Join(chain, " → "), rocksTag)
		}
	}
}

// reach returns the way from a package to one that it must never reach, nil if
// there is none.
func reach(g graph, p *goPackage, imports []string, never func(*goPackage) bool) []string {
	if never(p) {
		return []string{short(p.ImportPath)}
	}
	before := map[string]string{}
	queue := slices.Clone(imports)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		q := g[at]
		if q == nil {
			q = &goPackage{ImportPath: at}
		}
		if never(q) {
			chain := []string{short(at)}
			for from := before[at]; from != ""; from = before[from] {
				chain = append(chain, short(from))
			}
			slices.Reverse(chain)
			return chain
		}
		if q.Standard {
			continue // the standard library reaches nothing of interest
		}
		for _, next := range q.Imports {
			if _, seen := before[next]; !seen && !slices.Contains(imports, next) {
				before[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// TestAlias: package tws lies in a folder called runtime, so every import names
// it.
func TestAlias(t *testing.T) {
	t.Parallel()
	const reason = `the package is called tws and its folder runtime: without the alias a reader, and goimports, take it for Go's own runtime`
	seen := 0
	for _, f := range goFiles(t) {
		if strings.HasPrefix(f.name, "golden/gen/") {
			continue // imitates what users may write
		}
		for _, i := range f.syntax.Imports {
			if i.Path.Value != `"`+module+`/runtime"` {
				continue
			}
			seen++
			if i.Name == nil || i.Name.Name != "tws" {
				broken(t, "package runtime is imported as tws", reason, "%s: write tws %s", place(i.Pos()), i.Path.Value)
			}
		}
	}
	if seen == 0 {
		t.Error("no file imports the runtime: the test looks in the wrong place")
	}
}

// TestModuleFile: go.mod has no replace and no exclude.
func TestModuleFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "replace", "exclude":
			broken(t, "no replace and no exclude in go.mod", "go install …@version refuses a module that has them", "%s", strings.TrimSpace(line))
		}
	}
}

// topFolders are the folders at the top, and nothing else is.
var topFolders = []string{"cmd", "codec", "docs", "examples", "gen", "golden", "runtime", "schemas"}

// TestTopLevel: the top level shows the architecture.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	const reason = "the top level is the first page a reader sees; a helper belongs beside its one user, a package below the part it serves"
	all, err := repoFiles()
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, name := range all {
		top, _, deeper := strings.Cut(name, "/")
		switch {
		case deeper:
			folders[top] = true
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			broken(t, "no code at the top", reason, "%s", name)
		}
		if base := path.Base(name); strings.HasSuffix(base, ".go") && slices.Contains(vagueNames, strings.TrimSuffix(strings.TrimSuffix(base, ".go"), "_test")) {
			broken(t, "a file is named for what it holds", "names such as utils collect whatever has no place; one noun per file keeps code findable", "%s", name)
		}
	}
	if got := slices.Sorted(maps.Keys(folders)); !slices.Equal(got, topFolders) {
		broken(t, "top-level folders", reason, "there are %v, want %v", got, topFolders)
	}
}

var vagueNames = []string{"common", "helper", "helpers", "misc", "types", "util", "utils"}
