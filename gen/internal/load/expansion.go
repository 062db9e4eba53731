package load

import "go/ast"

// maxExpansion is the number of fields that a type may hold by value, those of
// nested structs counted wherever they occur. The type checker goes through all
// of them, as a compiler does: structs that hold the next one twice would keep it
// busy for as long as one likes.
const maxExpansion = 100_000

// tooLarge returns a type declaration that is above the limit while the types it
// is made of are not, nil if there is none. Types of other packages and what type
// arguments may add are not known before the check and do not count.
func tooLarge(files []*ast.File) *ast.TypeSpec {
	x := expansion{specs: make(map[string]*ast.TypeSpec), counts: make(map[string]int)}
	var names []string
	for _, file := range files {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					x.specs[spec.Name.Name] = spec
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	for _, name := range names {
		if x.named(name); x.first != nil {
			return x.first
		}
	}
	return nil
}

// expansion counts what the types of a package hold by value.
type expansion struct {
	specs  map[string]*ast.TypeSpec
	counts map[string]int // by name; 0 while a type is being counted
	first  *ast.TypeSpec  // the first one that is too large
}

func (x *expansion) named(name string) int {
	n, ok := x.counts[name]
	spec := x.specs[name]
	if ok || spec == nil {
		return n
	}
	x.counts[name] = 0 // what contains itself is refused by the check
	n = min(x.count(spec.Type), maxExpansion+1)
	if n > maxExpansion && x.first == nil {
		x.first = spec
	}
	x.counts[name] = n
	return n
}

// count returns what a type expression holds by value.
func (x *expansion) count(node ast.Node) (n int) {
	ast.Inspect(node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Ident:
			n += x.named(node.Name)
		case *ast.Field:
			n += max(len(node.Names), 1) * (1 + x.count(node.Type))
			return false
		case *ast.ArrayType:
			return node.Len != nil
		case *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.SelectorExpr:
			return false
		}
		n = min(n, maxExpansion+1)
		return true
	})
	return min(n, maxExpansion+1)
}
