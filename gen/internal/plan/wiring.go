package plan

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/tws-go/tws/gen/internal/annot"
	"github.com/tws-go/tws/gen/internal/diag"
)

// Types of the runtime package that directives are about.
const (
	tableType   = "StreamingTable"
	sinkType    = "Sink"
	flowType    = "Flow"
	streamType  = "S"
	endlessType = "Endless"
	finiteType  = "Finite"
)

// wiring plans tables, sinks and flows from their directives.
func (pl *planner) wiring(directives []*annot.Directive) {
	targets := &names{pl: pl, what: "tables or sinks"}
	flows := &names{pl: pl, what: "flows"}
	for _, d := range directives {
		pl.mark(d.Pos)
		switch d.Word {
		case annot.Table:
			pl.table(d, targets, flows)
		case annot.Sink:
			pl.sink(d, targets)
		}
	}
	for _, d := range directives {
		if d.Word == annot.Flow {
			pl.flow(d, flows)
		}
	}
}

// directiveName returns the name argument, or the default from the identifier.
func (pl *planner) directiveName(d *annot.Directive, ident *ast.Ident, what string, unique ...*names) string {
	name, pos, given := lowerCamel(ident.Name), ident.Pos(), false
	if o, ok := d.Arg("name"); ok {
		name, pos, given = o.Value, o.ValuePos, true
	}
	if pl.pathName(pos, what+" "+ident.Name, name, given) {
		for _, n := range unique {
			n.take(pos, name)
		}
	}
	return name
}

func (pl *planner) onlyArgs(d *annot.Directive, known ...string) {
	for _, o := range d.Args {
		found := false
		for _, k := range known {
			found = found || k == o.Key
		}
		if !found {
			pl.unknownOption(o, "//tws:"+d.Word, known...)
		}
	}
}

func (pl *planner) table(d *annot.Directive, targets, flows *names) {
	pl.onlyArgs(d, "name")
	if d.Func != nil {
		pl.tableFunc(d, targets, flows)
		return
	}
	ident := d.Var.Names[0]
	row, ok := pl.varRow(d, ident, tableType, false)
	if !ok {
		pl.broken[ident.Name] = true
		return
	}
	pl.out.Tables = append(pl.out.Tables, &Table{
		GoName:  ident.Name,
		Name:    pl.directiveName(d, ident, "table", targets),
		Comment: d.Doc,
		Row:     row,
		Pos:     pl.src.Position(ident.Pos()),
	})
	pl.tableRow(row, pl.varTypePos(d.Var), ident.Name)
}

func (pl *planner) tableRow(row types.Type, pos token.Pos, name string) {
	pl.rows = append(pl.rows, rowUse{t: row, pos: pos, root: "table " + name, external: true, table: true})
}

func (pl *planner) varTypePos(v *ast.ValueSpec) token.Pos {
	if args := typeArgs(v.Type); v.Type != nil && len(args) > 0 {
		return args[0].Pos()
	}
	return v.Pos()
}

// varRow returns the row type of a table or sink variable.
func (pl *planner) varRow(d *annot.Directive, ident *ast.Ident, want string, pointer bool) (types.Type, bool) {
	form := "tws." + want + "[T]"
	if pointer {
		form = "*" + form
	}
	obj := pl.src.Info.Defs[ident]
	if obj == nil || obj.Type() == nil || ident.Name == "_" {
		pl.report(ident.Pos(), diag.WrongDecl, "declare a variable with a name and of type "+form, "//tws:%s stands on a variable without a name", d.Word)
		return nil, false
	}
	t := types.Unalias(obj.Type())
	if pointer {
		p, ok := t.(*types.Pointer)
		if ok {
			t = p.Elem()
		} else if !invalid(t) {
			t = types.Typ[types.Bool]
		}
	}
	name, args := runtimeType(t)
	switch {
	case invalid(obj.Type()):
		pl.undefined(d.Var, "variable "+ident.Name)
		return nil, false
	case name != want || args.Len() != 1:
		pl.report(d.Pos, diag.WrongDecl, "declare the variable with type "+form+", or remove the directive",
			"//tws:%s stands on variable %s of type %s", d.Word, ident.Name, pl.typeString(obj.Type()))
		return nil, false
	}
	return args.At(0), true
}

// tableFunc plans a function that declares a table and its only flow.
func (pl *planner) tableFunc(d *annot.Directive, targets, flows *names) {
	row, finite, ok := pl.flowFunc(d)
	if !ok {
		return
	}
	ident := d.Func.Name
	if finite {
		pl.report(d.Func.Type.Results.Pos(), diag.Once, "return tws.Stream[T], or declare a variable for the table and a once flow into it",
			"table function %s returns a bounded stream", ident.Name)
		return
	}
	pl.out.Tables = append(pl.out.Tables, &Table{
		GoName:  ident.Name,
		Func:    true,
		Name:    pl.directiveName(d, ident, "table", targets, flows),
		Comment: d.Doc,
		Row:     row,
		Pos:     pl.src.Position(ident.Pos()),
	})
	pl.tableRow(row, resultPos(d.Func), ident.Name)
}

func (pl *planner) sink(d *annot.Directive, targets *names) {
	pl.onlyArgs(d, "name")
	if d.Func != nil {
		pl.report(d.Pos, diag.WrongDecl, "put it on a variable: var X = tws.NewSink(…)", "//tws:sink stands on function %s", d.Func.Name.Name)
		return
	}
	ident := d.Var.Names[0]
	row, ok := pl.varRow(d, ident, sinkType, true)
	if !ok {
		pl.broken[ident.Name] = true
		return
	}
	pl.out.Sinks = append(pl.out.Sinks, &Sink{
		GoName: ident.Name,
		Name:   pl.directiveName(d, ident, "sink", targets),
		Row:    row,
		Pos:    pl.src.Position(ident.Pos()),
	})
	pl.row(row, pl.varTypePos(d.Var), "sink "+ident.Name, true)
}

func (pl *planner) flow(d *annot.Directive, flows *names) {
	pl.onlyArgs(d, "target", "name", "once")
	if d.Func == nil {
		pl.report(d.Pos, diag.WrongDecl, "put it on a function func(*tws.Flow) tws.Stream[T]", "//tws:flow stands on variable %s", d.Var.Names[0].Name)
		return
	}
	f := &Flow{GoName: d.Func.Name.Name, Pos: pl.src.Position(d.Func.Name.Pos())}
	if o, ok := d.Arg("once"); ok {
		f.Once = true
		if o.HasValue {
			pl.report(o.Pos, diag.OptionValue, "write once alone, or leave it out", "once takes no value")
		}
	}
	f.Name = pl.directiveName(d, d.Func.Name, "flow", flows)
	row, finite, formOK := pl.flowFunc(d)
	target, targetOK := pl.target(d, f)
	if formOK {
		pl.onceForm(d, f, finite)
	}
	if formOK && targetOK && !types.Identical(row, target) {
		pl.report(resultPos(d.Func), diag.FlowRow, "return "+pl.typeString(target)+" rows, or choose another target",
			"flow %s returns %s, and its target %s holds %s", f.GoName, pl.typeString(row), f.Target, pl.typeString(target))
	}
	pl.out.Flows = append(pl.out.Flows, f)
}

func (pl *planner) onceForm(d *annot.Directive, f *Flow, finite bool) {
	switch {
	case f.Once && !finite:
		pl.report(resultPos(d.Func), diag.Once, "return tws.Bounded[T], read by tws.ReadBounded, or remove once",
			"once flow %s returns an endless stream", f.GoName)
	case !f.Once && finite:
		pl.report(resultPos(d.Func), diag.Once, "add once to the directive, or return tws.Stream[T]",
			"flow %s returns a bounded stream and is not marked once", f.GoName)
	}
}

// target finds a flow's target and returns its row type.
func (pl *planner) target(d *annot.Directive, f *Flow) (types.Type, bool) {
	o, ok := d.Arg("target")
	if !ok || o.Value == "" {
		pl.report(d.Pos, diag.Target, "add target=X, the identifier of a table or sink variable", "flow %s has no target", f.GoName)
		return nil, false
	}
	f.Target = o.Value
	if pl.broken[o.Value] {
		return nil, false
	}
	var known []string
	for _, t := range pl.out.Tables {
		if t.GoName == o.Value && !t.Func {
			return t.Row, true
		}
		if t.GoName == o.Value {
			pl.report(o.ValuePos, diag.Target, "declare the table as a variable: var X tws.StreamingTable[T]",
				"target %s is a function, whose table has that function as its only flow", o.Value)
			return nil, false
		}
		if !t.Func {
			known = append(known, t.GoName)
		}
	}
	for _, s := range pl.out.Sinks {
		if s.GoName == o.Value {
			return s.Row, true
		}
		known = append(known, s.GoName)
	}
	if pl.src.Types.Scope().Lookup(o.Value) != nil {
		pl.report(o.ValuePos, diag.Target, "add //tws:table or //tws:sink to the declaration of "+o.Value,
			"target %s of flow %s is not declared as a table or sink", o.Value, f.GoName)
		return nil, false
	}
	pl.report(o.ValuePos, diag.Target, "name a variable of this package that has a //tws:table or //tws:sink directive",
		"flow %s has the unknown target %s%s", f.GoName, o.Value, diag.DidYouMean(o.Value, known))
	return nil, false
}

func resultPos(f *ast.FuncDecl) token.Pos {
	if f.Type.Results == nil {
		return f.Name.Pos()
	}
	return f.Type.Results.List[0].Type.Pos()
}

// flowFunc checks that a function has a flow's form and returns its row type.
func (pl *planner) flowFunc(d *annot.Directive) (row types.Type, finite, ok bool) {
	f := d.Func
	obj, _ := pl.src.Info.Defs[f.Name].(*types.Func)
	if obj == nil {
		return nil, false, false
	}
	sig := obj.Signature()
	switch {
	case sig.Recv() != nil:
		pl.report(f.Name.Pos(), diag.FlowForm, "make it a function", "%s is a method; a flow is a function", f.Name.Name)
		return nil, false, false
	case f.Name.Name == "_" || f.Name.Name == "init" || f.Name.Name == "main" && pl.src.Name == "main":
		pl.report(f.Name.Pos(), diag.FlowForm, "rename it", "function %s cannot be referred to", f.Name.Name)
		return nil, false, false
	case sig.TypeParams().Len() > 0:
		pl.report(f.Name.Pos(), diag.FlowForm, "write a function without type parameters that calls this one",
			"flow %s has type parameters", f.Name.Name)
		return nil, false, false
	case invalid(sig):
		pl.undefined(f.Type, "flow "+f.Name.Name)
		return nil, false, false
	}
	if row, finite, ok = flowSignature(sig); !ok {
		pl.report(f.Name.Pos(), diag.FlowForm, "change it to func(f *tws.Flow) tws.Stream[T], or tws.Bounded[T] for a once flow",
			"flow %s has the wrong signature\n\t\thave %s\n\t\twant (*tws.Flow) tws.Stream[T]", f.Name.Name, pl.signatureText(sig))
	}
	return row, finite, ok
}

func flowSignature(sig *types.Signature) (row types.Type, finite, ok bool) {
	if sig.Params().Len() != 1 || sig.Results().Len() != 1 || sig.Variadic() {
		return nil, false, false
	}
	p, pointer := types.Unalias(sig.Params().At(0).Type()).(*types.Pointer)
	if !pointer {
		return nil, false, false
	}
	if name, _ := runtimeType(p.Elem()); name != flowType {
		return nil, false, false
	}
	name, args := runtimeType(sig.Results().At(0).Type())
	if name != streamType || args.Len() != 2 {
		return nil, false, false
	}
	switch bound, _ := runtimeType(args.At(1)); bound {
	case endlessType:
		return args.At(0), false, true
	case finiteType:
		return args.At(0), true, true
	}
	return nil, false, false
}
