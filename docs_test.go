package tws_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// markdown is a document without its fenced code blocks, and the blocks.
type markdown struct {
	name   string
	prose  []string // by line; lines of code blocks are empty
	blocks []block
}

// block is a fenced code block and what its marker, the HTML comment right above
// it, says: "" if there is none.
type block struct {
	line   int
	lang   string
	marker string
	text   string
}

var fence = regexp.MustCompile("^(```+)\\s*(\\w*)")

func readMarkdown(t *testing.T, name string) *markdown {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := &markdown{name: name}
	var open string
	var b block
	for i, line := range strings.Split(string(content), "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open == "" && found != nil:
			open = found[1]
			b = block{line: i + 1, lang: found[2], marker: marker(m.prose)}
			line = ""
		case open != "" && strings.TrimSpace(line) == open:
			m.blocks = append(m.blocks, b)
			open, line = "", ""
		case open != "":
			b.text += line + "\n"
			line = ""
		}
		m.prose = append(m.prose, line)
	}
	if open != "" {
		t.Errorf("%s:%d: the code block does not end", name, b.line)
	}
	return m
}

// marker returns the content of an HTML comment that is the last line of prose.
func marker(prose []string) string {
	if len(prose) == 0 {
		return ""
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(prose[len(prose)-1]), "<!--")
	text, ends := strings.CutSuffix(text, "-->")
	if !ok || !ends {
		return ""
	}
	return strings.TrimSpace(text)
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*$`)
	docPath = regexp.MustCompile(`\b(?:docs|examples|golden)/[\w./-]*\.(?:md|sh|go|jsonl)\b`)
)

// TestLinks: every relative link leads to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	t.Parallel()
	const rule, reason = "links resolve", "a document that leads nowhere is worse than none"
	for _, name := range files(t, ".md") {
		m := readMarkdown(t, name)
		for i, line := range m.prose {
			for _, found := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(found[1], "#")
				if strings.Contains(target, ":") {
					continue // another site
				}
				to := name
				if target != "" {
					to = path.Join(path.Dir(name), target)
				}
				if _, err := os.Stat(to); err != nil {
					broken(t, rule, reason, "%s:%d: there is no %s", name, i+1, to)
				} else if anchor != "" && !slices.Contains(anchors(t, to), anchor) {
					broken(t, rule, reason, "%s:%d: %s has no heading #%s", name, i+1, to, anchor)
				}
			}
		}
	}
}

// anchors returns the anchors that a document's headings have on GitHub.
func anchors(t *testing.T, name string) []string {
	t.Helper()
	if !strings.HasSuffix(name, ".md") {
		return nil
	}
	var all []string
	for _, line := range readMarkdown(t, name).prose {
		found := heading.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		var b strings.Builder
		for _, r := range strings.ToLower(found[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return all
}

// TestMentionedFiles: comments name documents and examples that exist.
func TestMentionedFiles(t *testing.T) {
	t.Parallel()
	const rule, reason = "files that are mentioned exist", "a comment that sends the reader to a missing file was true once, or never"
	for _, f := range handWritten(t) {
		for _, group := range f.syntax.Comments {
			for _, mention := range docPath.FindAllString(group.Text(), -1) {
				if _, err := os.Stat(mention); err != nil {
					broken(t, rule, reason, "%s mentions %s", place(group.Pos()), mention)
				}
			}
		}
	}
}

// TestSnippets: a code block whose marker names a file of the repository is that
// file's content. CONTRIBUTING.md describes the markers.
func TestSnippets(t *testing.T) {
	t.Parallel()
	const rule, reason = "code in documents is code of the repository", "what is compiled and tested stays true; what is copied does not"
	for _, name := range files(t, ".md") {
		for _, b := range readMarkdown(t, name).blocks {
			file, parts, _ := strings.Cut(b.marker, ":")
			if strings.HasPrefix(file, "step") || !strings.Contains(file, "/") && !strings.Contains(file, ".") {
				continue // a remark, or a step of a page that is run
			}
			content, err := os.ReadFile(file)
			if err != nil {
				broken(t, rule, reason, "%s:%d: the marker names %s, which is not there", name, b.line, file)
				continue
			}
			want := string(content)
			if parts != "" {
				want, err = declarations(t, file, strings.Fields(parts))
				if err != nil {
					broken(t, rule, reason, "%s:%d: %v", name, b.line, err)
					continue
				}
			}
			if strings.TrimSpace(b.text) != strings.TrimSpace(want) {
				broken(t, rule, reason, "%s:%d: the block differs from %s; it must be\n%s", name, b.line, b.marker, want)
			}
		}
	}
}

// declarations returns the source of top-level declarations, with comments, in
// the order they are named, a blank line between. "Type.Method" names a method.
func declarations(t *testing.T, file string, names []string) (string, error) {
	t.Helper()
	i := slices.IndexFunc(goFiles(t), func(f *goFile) bool { return f.name == file })
	if i < 0 {
		return "", fmt.Errorf("%s is not a Go file of the repository", file)
	}
	f := goFiles(t)[i]
	var parts []string
	for _, name := range names {
		d := slices.IndexFunc(f.syntax.Decls, func(d ast.Decl) bool { return slices.Contains(declared(d), name) })
		if d < 0 {
			return "", fmt.Errorf("%s declares no %s", file, name)
		}
		from, to := extent(f.syntax.Decls[d])
		source := f.source[fileSet.Position(from).Offset:fileSet.Position(to).Offset]
		parts = append(parts, string(bytes.TrimSpace(source)))
	}
	return strings.Join(parts, "\n\n") + "\n", nil
}

// declared returns the names that a declaration declares.
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		switch generic := receiver.(type) {
		case *ast.IndexExpr:
			receiver = generic.X
		case *ast.IndexListExpr:
			receiver = generic.X
		}
		if id, ok := receiver.(*ast.Ident); ok {
			return []string{id.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names
	}
	return nil
}

// extent is a declaration with its comment.
func extent(d ast.Decl) (from, to token.Pos) {
	doc := (*ast.CommentGroup)(nil)
	switch d := d.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc != nil {
		return doc.Pos(), d.End()
	}
	return d.Pos(), d.End()
}

// TestDocsIndex: docs/README.md leads to every document.
func TestDocsIndex(t *testing.T) {
	t.Parallel()
	index := readMarkdown(t, "docs/README.md")
	for _, name := range files(t, ".md") {
		rel, inDocs := strings.CutPrefix(name, "docs/")
		if inDocs && rel != "README.md" && !strings.Contains(strings.Join(index.prose, "\n"), "]("+rel+")") {
			broken(t, "docs/README.md lists every document", "what nothing leads to is not read", "it does not link to %s", rel)
		}
	}
}

// TestArchitectureNamesPackages: the package map is complete.
func TestArchitectureNamesPackages(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range parseImportRules(t) {
		if !bytes.Contains(content, []byte("`"+r.pattern+"`")) {
			broken(t, "ARCHITECTURE.md maps every package", "it is how a reader finds the place", "it does not name `%s`", r.pattern)
		}
	}
}

var codeName = regexp.MustCompile("`((?:\\w+\\.)?\\w+\\.\\w+)`")

// TestArchitectureNamesCode: `Type.member`, `package.Name` and
// `package.Type.member` in ARCHITECTURE.md are names in the code.
func TestArchitectureNamesCode(t *testing.T) {
	t.Parallel()
	const rule, reason = "ARCHITECTURE.md names code that exists", "a reader looks for the name, and it is all there is to go by"
	known := codeNames(t)
	notCode := []string{"broker.sh", "tws.lock.json", "out.Emit"} // files, and a user's variable
	found := 0
	for i, line := range readMarkdown(t, "ARCHITECTURE.md").prose {
		for _, name := range codeName.FindAllStringSubmatch(line, -1) {
			found++
			if !known[name[1]] && !slices.Contains(notCode, name[1]) {
				broken(t, rule, reason, "ARCHITECTURE.md:%d: there is no %s", i+1, name[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d names were found in ARCHITECTURE.md: the pattern no longer fits", found)
	}
}

// codeNames returns what the code declares, tests aside: "package.Name", and members
// of types with the package before them and without.
func codeNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, f := range handWritten(t) {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			for _, name := range append(declared(d), members(d)...) {
				names[f.syntax.Name.Name+"."+name] = true
				names[name] = true
			}
		}
	}
	return names
}

// members returns the fields of structs and the methods of interfaces that a
// declaration declares, as "Type.Member".
func members(d ast.Decl) []string {
	gen, ok := d.(*ast.GenDecl)
	if !ok {
		return nil
	}
	var names []string
	for _, s := range gen.Specs {
		typ, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		var fields *ast.FieldList
		switch what := typ.Type.(type) {
		case *ast.StructType:
			fields = what.Fields
		case *ast.InterfaceType:
			fields = what.Methods
		default:
			continue
		}
		for _, f := range fields.List {
			for _, n := range f.Names {
				names = append(names, typ.Name.Name+"."+n.Name)
			}
		}
	}
	return names
}
