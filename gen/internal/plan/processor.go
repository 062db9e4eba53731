package plan

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/gen/internal/annot"
	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/schemas"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Handle types of the runtime package.
const (
	processorType = "Processor"
	valueType     = "ValueState"
	listType      = "ListState"
	mapType       = "MapState"
	timerType     = "Timer"
)

var stateKinds = map[string]schemas.StateKind{
	valueType: schemas.ValueState,
	listType:  schemas.ListState,
	mapType:   schemas.MapState,
}

// isHandle reports whether t is a state variable or a timer.
func isHandle(t types.Type) bool {
	name, _ := runtimeType(t)
	return stateKinds[name] != "" || name == timerType
}

// holdsHandle reports whether t leads to a handle through pointers or
// containers, or is one.
func holdsHandle(t types.Type) bool {
	if isHandle(t) {
		return true
	}
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return holdsHandle(t.Elem())
	case *types.Slice:
		return holdsHandle(t.Elem())
	case *types.Array:
		return holdsHandle(t.Elem())
	case *types.Chan:
		return holdsHandle(t.Elem())
	case *types.Map:
		return holdsHandle(t.Key()) || holdsHandle(t.Elem())
	}
	return false
}

// isProcessorType reports whether t is tws.Processor or a pointer to it.
func isProcessorType(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	name, _ := runtimeType(t)
	return name == processorType
}

// embedsProcessor reports whether a named type is a processor.
func embedsProcessor(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || isProcessorType(t) {
		return false
	}
	for f := range s.Fields() {
		if f.Embedded() && isProcessorType(f.Type()) {
			return true
		}
	}
	return false
}

// processors finds and plans all processors, and reports state that is declared
// anywhere else.
func (pl *planner) processors() {
	if pl.runtime == nil {
		return
	}
	unique := &names{pl: pl, what: "processors"}
	for _, file := range pl.src.Files {
		declared := make(map[*ast.StructType]*ast.TypeSpec)
		docs := make(map[*ast.TypeSpec]*ast.CommentGroup)
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				pl.topLevel(d, declared, docs)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				spec := declared[s]
				pl.structType(s, spec, docs[spec], unique)
			}
			return true
		})
	}
}

// topLevel notes the struct types that a declaration names, and reports
// variables and types that misuse handles.
func (pl *planner) topLevel(d *ast.GenDecl, declared map[*ast.StructType]*ast.TypeSpec, docs map[*ast.TypeSpec]*ast.CommentGroup) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			docs[spec] = spec.Doc
			if !d.Lparen.IsValid() {
				docs[spec] = d.Doc
			}
			if s, ok := ast.Unparen(spec.Type).(*ast.StructType); ok && !spec.Assign.IsValid() {
				declared[s] = spec
			} else {
				pl.derivedType(spec)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if obj := pl.src.Info.Defs[name]; obj != nil && obj.Type() != nil && holdsHandle(obj.Type()) {
					pl.stray(name.Pos(), "variable "+name.Name)
				}
			}
		}
	}
}

// derivedType reports type B A where A is a processor. An alias is fine.
func (pl *planner) derivedType(spec *ast.TypeSpec) {
	if spec.Assign.IsValid() {
		return
	}
	t := pl.src.Info.TypeOf(spec.Type)
	if _, literal := ast.Unparen(spec.Type).(*ast.StructType); t != nil && !literal && embedsProcessor(t) {
		pl.report(spec.Pos(), diag.ProcessorForm, "embed tws.Processor in it directly, or use an alias: type "+spec.Name.Name+" = …",
			"type %s is declared over the processor %s", spec.Name.Name, pl.typeString(t))
	}
}

func (pl *planner) stray(pos token.Pos, what string) {
	p := pl.src.Position(pos)
	line := p.Filename + ":" + itoa(p.Line)
	if pl.strayLines[line] {
		return // as a field, and as part of the struct that some state holds
	}
	pl.strayLines[line] = true
	pl.report(pos, diag.StrayState, "make it a named field of a processor struct, directly",
		"%s: state and timers are bound in fields of processors only", what)
}

// structType looks at one struct type: spec is its declaration, nil if it is
// not declared by name at package level.
func (pl *planner) structType(s *ast.StructType, spec *ast.TypeSpec, doc *ast.CommentGroup, unique *names) {
	var markers []*ast.Field
	for _, field := range s.Fields.List {
		if pl.isMarker(field) {
			markers = append(markers, field)
		}
	}
	if len(markers) == 0 {
		pl.plainStruct(s, spec)
		return
	}
	pl.mark(s.Pos())
	if !pl.processorForm(markers, spec) {
		return
	}
	pl.processor(s, spec, markers[0], doc, unique)
}

// isMarker reports whether a field is of type tws.Processor, also if one of its
// type arguments does not exist, which leaves the whole without a type.
func (pl *planner) isMarker(field *ast.Field) bool {
	t := pl.src.Info.TypeOf(field.Type)
	if t != nil && isProcessorType(t) {
		return true
	}
	name := embeddedName(field.Type)
	if name == nil || t == nil || !invalid(t) {
		return false
	}
	obj, ok := pl.src.Info.Uses[name].(*types.TypeName)
	return ok && obj.Type() != nil && isProcessorType(obj.Type())
}

// plainStruct reports what only a processor may have.
func (pl *planner) plainStruct(s *ast.StructType, spec *ast.TypeSpec) {
	in := "a struct"
	if spec != nil {
		in = "struct " + spec.Name.Name
	}
	for _, field := range s.Fields.List {
		t := pl.src.Info.TypeOf(field.Type)
		if t == nil {
			continue
		}
		if holdsHandle(t) {
			pl.stray(field.Type.Pos(), "field "+fieldLabel(field)+" of "+in+", which embeds no tws.Processor")
		}
		if len(field.Names) == 0 && embedsProcessor(t) {
			pl.report(field.Pos(), diag.ProcessorForm, "embed tws.Processor itself and share code by functions, or give the field a name",
				"%s embeds the processor %s, whose binding does not know its fields", in, pl.typeString(t))
		}
	}
}

func fieldLabel(field *ast.Field) string {
	var parts []string
	for _, name := range field.Names {
		parts = append(parts, name.Name)
	}
	if len(parts) == 0 {
		if name := embeddedName(field.Type); name != nil {
			parts = append(parts, name.Name)
		}
	}
	return strings.Join(parts, ", ")
}

// processorForm checks how tws.Processor stands in a struct.
func (pl *planner) processorForm(markers []*ast.Field, spec *ast.TypeSpec) bool {
	marker := markers[0]
	_, pointer := ast.Unparen(marker.Type).(*ast.StarExpr)
	switch {
	case len(markers) > 1:
		pl.report(markers[1].Pos(), diag.ProcessorForm, "split it into two processors",
			"a processor embeds tws.Processor once, this one does %d times", len(markers))
	case len(marker.Names) > 0:
		pl.report(marker.Pos(), diag.ProcessorForm, "remove the field name "+fieldLabel(marker),
			"tws.Processor is a named field; it has an effect only embedded")
	case pointer:
		pl.report(marker.Pos(), diag.ProcessorForm, "remove the *", "tws.Processor is embedded by pointer")
	case spec == nil:
		pl.report(marker.Pos(), diag.ProcessorForm, "declare it at package level: type Name struct { … }",
			"a processor is a struct type declared by name at package level")
	case spec.TypeParams != nil:
		pl.report(spec.TypeParams.Pos(), diag.ProcessorForm, "write a processor for each set of types; share code by generic functions",
			"processor %s has type parameters", spec.Name.Name)
	default:
		return true
	}
	return false
}

// processor plans one processor.
func (pl *planner) processor(s *ast.StructType, spec *ast.TypeSpec, marker *ast.Field, doc *ast.CommentGroup, unique *names) {
	obj, ok := pl.src.Info.Defs[spec.Name].(*types.TypeName)
	if !ok {
		return
	}
	p := &Processor{GoName: spec.Name.Name, Doc: docText(doc), Pos: pl.src.Position(spec.Name.Pos())}
	named := pl.processorTag(p, spec, marker, unique)
	_, args := runtimeType(pl.src.Info.TypeOf(marker.Type))
	pl.processorFields(p, s, marker)
	if args.Len() != 3 || invalid(pl.src.Info.TypeOf(marker.Type)) {
		pl.undefined(marker.Type, "processor "+p.GoName)
		return
	}
	pl.processorTypes(p, marker, args)
	pl.handlers(p, obj, args)
	if named {
		pl.out.Processors = append(pl.out.Processors, p)
	}
}

func docText(doc *ast.CommentGroup) string {
	return strings.TrimSpace(doc.Text())
}

// processorTag reads the tag of tws.Processor. It returns false if the name
// cannot be the processor's.
func (pl *planner) processorTag(p *Processor, spec *ast.TypeSpec, marker *ast.Field, unique *names) bool {
	p.Schema = schemas.Processor{
		Name:       lowerCamel(p.GoName),
		TimeMode:   schemas.TimeProcessing,
		OutputMode: schemas.OutputAppend,
	}
	pos := spec.Name.Pos()
	tag := annot.ParseTag(marker.Tag, pl.report)
	if tag != nil {
		if tag.Name != "" {
			p.Schema.Name, pos = tag.Name, tag.NamePos
		}
		for _, o := range tag.Options {
			switch o.Key {
			case "time":
				pl.choice(o, &p.Schema.TimeMode, schemas.TimeNone, schemas.TimeProcessing, schemas.TimeEvent)
			case "output":
				pl.choice(o, &p.Schema.OutputMode, schemas.OutputAppend, schemas.OutputUpdate)
			default:
				pl.unknownOption(o, "a processor", "time", "output")
			}
		}
	}
	return pl.pathName(pos, "processor "+p.GoName, p.Schema.Name, tag != nil && tag.Name != "") &&
		unique.take(pos, p.Schema.Name)
}

// choice sets an option that is one of a few words.
func (pl *planner) choice(o annot.Option, value *string, allowed ...string) {
	if slices.Contains(allowed, o.Value) {
		*value = o.Value
		return
	}
	pl.report(o.ValuePos, diag.OptionValue, "write "+o.Key+"="+strings.Join(allowed, ", "+o.Key+"=")+" or leave it out",
		"%s is not a value of %s%s", strconv.Quote(o.Value), o.Key, diag.DidYouMean(o.Value, allowed))
}

func (pl *planner) unknownOption(o annot.Option, where string, known ...string) {
	fix := "remove it"
	if len(known) > 0 {
		fix = "the options here are " + strings.Join(known, ", ")
	}
	pl.report(o.Pos, diag.UnknownOption, fix, "%s takes no option %q%s", where, o.Key, diag.DidYouMean(o.Key, known))
}

// processorTypes plans the key and row types.
func (pl *planner) processorTypes(p *Processor, marker *ast.Field, args *types.TypeList) {
	exprs := typeArgs(marker.Type)
	at := func(i int) token.Pos {
		if i < len(exprs) {
			return exprs[i].Pos()
		}
		return marker.Pos()
	}
	p.Key = pl.key(args.At(0), use{pos: at(0), root: "the grouping key of " + p.GoName})
	p.In, p.Out = args.At(1), args.At(2)
	pl.row(p.In, at(1), "the input of "+p.GoName, false)
	pl.row(p.Out, at(2), "the output of "+p.GoName, false)
}

// typeArgs returns the type arguments as written, none behind an alias.
func typeArgs(expr ast.Expr) []ast.Expr {
	switch e := ast.Unparen(expr).(type) {
	case *ast.IndexExpr:
		return []ast.Expr{e.Index}
	case *ast.IndexListExpr:
		return e.Indices
	}
	return nil
}
