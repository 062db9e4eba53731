package load

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/tools/go/packages"
)

// importerFor resolves the imports of one listed package, through its vendor
// directory, replacements and workspace as the go command saw them.
type importerFor struct {
	loader *Loader
	of     *packages.Package
}

// Import returns the declarations of an imported package.
func (i importerFor) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := i.of.Imports[path]
	if p == nil || len(p.GoFiles) == 0 {
		return nil, fmt.Errorf("no package %s", path)
	}
	if done := i.loader.imports[p.ID]; done != nil {
		return done, nil
	}
	// An import cycle is an error in the user's code; it must not loop here.
	i.loader.imports[p.ID] = types.NewPackage(p.PkgPath, p.Name)
	done := i.loader.declarations(p)
	i.loader.imports[p.ID] = done
	return done, nil
}

// Written tells the loader that the run is going to write a file, so that
// packages which import its package see the new content.
func (l *Loader) Written(path string, content []byte) { l.written[path] = content }

// declarations checks what an imported package declares.
func (l *Loader) declarations(p *packages.Package) *types.Package {
	var files []*ast.File
	for _, name := range l.files(p) {
		var src any
		if content, ok := l.written[name]; ok {
			src = content
		}
		f, err := parser.ParseFile(l.Fset, name, src, parser.SkipObjectResolution)
		if f == nil || f.Name == nil || f.Name.Name != p.Name {
			continue // unreadable, or nothing of it is usable
		}
		if err == nil {
			prune(f, p)
		}
		files = append(files, f)
	}
	config := types.Config{
		Importer:         importerFor{l, p},
		FakeImportC:      true,
		IgnoreFuncBodies: true,
		Error:            func(error) {}, // see the package comment
	}
	checked, _ := config.Check(p.PkgPath, l.Fset, files, nil)
	return checked
}

// files returns a package's files, with those this run is about to write.
func (l *Loader) files(p *packages.Package) []string {
	files := append([]string(nil), p.GoFiles...)
	for _, path := range sortedKeys(l.written) {
		if filepath.Dir(path) != filepath.Dir(p.GoFiles[0]) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			files = append(files, path)
		}
	}
	return files
}

// prune drops from a file what other packages cannot depend on: bodies,
// unexported functions, blank declarations, and the imports only they used.
func prune(f *ast.File, p *packages.Package) {
	kept := f.Decls[:0]
	var imports []*ast.GenDecl
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && !d.Name.IsExported() {
				continue
			}
			d.Body = nil
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				imports = append(imports, d)
			} else if d.Tok == token.VAR {
				dropBlank(d)
			}
		}
		kept = append(kept, decl)
	}
	f.Decls = kept
	used := packageNames(f)
	f.Imports = nil
	for _, d := range imports {
		specs := d.Specs[:0]
		for _, spec := range d.Specs {
			is := spec.(*ast.ImportSpec)
			if name := importName(is, p); name == "." || used[name] {
				specs = append(specs, spec)
				f.Imports = append(f.Imports, is)
			}
		}
		d.Specs = specs
	}
	f.Decls = slices.DeleteFunc(f.Decls, func(decl ast.Decl) bool {
		d, ok := decl.(*ast.GenDecl)
		return ok && len(d.Specs) == 0
	})
}

// dropBlank drops variables named _: interface assertions, mostly.
func dropBlank(d *ast.GenDecl) {
	specs := d.Specs[:0]
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		if len(v.Names) == 1 && v.Names[0].Name == "_" {
			continue
		}
		specs = append(specs, spec)
	}
	d.Specs = specs
}

// packageNames returns every identifier that qualifies another in the file's
// declarations, which includes all packages they refer to.
func packageNames(f *ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, decl := range f.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok {
					names[x.Name] = true
				}
			}
			return true
		})
	}
	return names
}

func importName(spec *ast.ImportSpec, p *packages.Package) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	if imported := p.Imports[path]; imported != nil {
		return imported.Name
	}
	return filepath.Base(path)
}
