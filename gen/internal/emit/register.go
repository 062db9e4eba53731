package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// register writes Register. A sink needs no call of its own: a flow brings it.
func (e *emitter) register() {
	l := e.local
	e.decl(doc("Register adds the package's tables and flows to a pipeline: "+e.wiringInWords()+"."),
		jen.Func().Id("Register").Params(jen.Id(l.pipeline).Op("*").Add(tws("Pipeline"))).BlockFunc(func(g *jen.Group) {
			for _, row := range e.pkg.Rows {
				if row.Registered && !hasMethod(row) {
					g.Add(tws("UseRow").Call(jen.Id(l.pipeline), e.fn("twsRow", row.Struct, "").Call()))
				}
			}
			for _, t := range e.pkg.Tables {
				for _, line := range e.addTable(t) {
					g.Add(line)
				}
			}
			for _, f := range e.pkg.Flows {
				g.Add(e.addFlow(f))
			}
		}))
}

// wiringInWords lists what Register adds, with the flows of each target.
func (e *emitter) wiringInWords() string {
	var parts []string
	for _, t := range e.pkg.Tables {
		parts = append(parts, "the table "+t.Name+e.fedBy(t.GoName))
	}
	for _, s := range e.pkg.Sinks {
		parts = append(parts, "the sink "+s.Name+e.fedBy(s.GoName))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%d flows", len(e.pkg.Flows))
	}
	return strings.Join(parts, "; ")
}

func (e *emitter) fedBy(target string) string {
	var flows []string
	for _, f := range e.pkg.Flows {
		if f.Target == target {
			flows = append(flows, f.Name)
		}
	}
	switch len(flows) {
	case 0:
		return ""
	case 1:
		return ", fed by the flow " + flows[0]
	}
	return ", fed by the flows " + strings.Join(flows, ", ")
}

// addTable adds a table. One that a function declares has no variable, so it
// gets one here, and the function is its default flow.
func (e *emitter) addTable(t *plan.Table) []jen.Code {
	l := e.local
	var comment *jen.Statement
	if t.Comment != "" {
		comment = jen.Lit(t.Comment)
	}
	add := tws("AddTable").Call(jen.Id(l.pipeline), e.target(t.GoName),
		tws("TableOptions").Add(keyed("Name", jen.Lit(t.Name), "Comment", optional(comment))))
	if !t.Func {
		return []jen.Code{add}
	}
	return []jen.Code{
		e.target(t.GoName).Op(":=").New(tws("StreamingTable").Types(e.typ(t.Row))),
		add,
		tws("AppendFlow").Call(jen.Id(l.pipeline), e.target(t.GoName), jen.Lit(t.Name), jen.Id(t.GoName)),
	}
}

func (e *emitter) addFlow(f *plan.Flow) jen.Code {
	add := tws("AppendFlow")
	if f.Once {
		add = tws("AppendOnce")
	}
	return add.Call(jen.Id(e.local.pipeline), e.target(f.Target), jen.Lit(f.Name), jen.Id(f.GoName))
}

// target is the expression of the target that a Go identifier declares: tables
// are passed by address, sinks are pointers already, and a function's table is
// in a local variable.
func (e *emitter) target(goName string) *jen.Statement {
	for _, t := range e.pkg.Tables {
		switch {
		case t.GoName != goName:
		case t.Func:
			return jen.Id(e.tableVar(t))
		default:
			return jen.Op("&").Id(goName)
		}
	}
	return jen.Id(goName)
}

// tableVar names the variable of a function's table.
func (e *emitter) tableVar(t *plan.Table) string {
	name := e.names.local("table" + upperFirst(t.GoName))
	for _, other := range e.pkg.Tables {
		if other == t {
			break
		}
		if other.Func && upperFirst(other.GoName) == upperFirst(t.GoName) {
			name += "_"
		}
	}
	return name
}
