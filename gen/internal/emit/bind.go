package emit

import (
	"cmp"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// modeConst are the constants of package schemas by time and output mode.
var modeConst = map[string]string{
	schemas.TimeNone: "TimeNone", schemas.TimeProcessing: "TimeProcessing", schemas.TimeEvent: "TimeEvent",
}

var outputConst = map[string]string{
	schemas.OutputAppend: "OutputAppend", schemas.OutputUpdate: "OutputUpdate",
}

// bind writes BindTWS, which shadows the default binding of the embedded
// Processor.
func (e *emitter) bind(proc *plan.Processor) {
	l := e.local
	h := e.receiver(proc)
	binding := tws("Binding").Types(e.typ(proc.Key.Go), e.typ(proc.In), e.typ(proc.Out))
	e.decl(
		doc(bindInWords(proc, h)),
		jen.Func().Params(jen.Id(h).Op("*").Id(proc.GoName)).Id("BindTWS").
			Params(jen.Id(l.binder).Op("*").Add(tws("Binder"))).Add(binding).
			BlockFunc(func(g *jen.Group) {
				for _, s := range proc.States {
					g.Id(h).Dot(s.Field).Op("=").Add(e.newFunc(proc, s)).Call(jen.Id(l.binder))
				}
				for _, t := range proc.Timers {
					g.Id(h).Dot(t.Field).Op("=").Add(tws("NewTimer")).Call(
						jen.Id(l.binder), schema("Timer").Add(timerFields(t)))
				}
				g.Return(binding.Clone().Add(keyed(
					"Processor", e.processorSchema(proc),
					"Fingerprint", jen.Lit(proc.Schema.Fingerprint()),
					"Key", e.keyCodec(proc.Key),
					"In", e.rowOf(proc.In),
					"Out", e.rowOf(proc.Out),
				)))
			}))
}

func bindInWords(proc *plan.Processor, h string) string {
	var hands string
	switch {
	case len(proc.States) > 0:
		hands = "hands every state field of " + h + " its accessor and "
	case len(proc.Timers) > 0:
		hands = "hands every timer field of " + h + " its timer and "
	}
	return "BindTWS " + hands + "returns what the engine must know of the processor. The engine calls it for each instance."
}

func timerFields(t *plan.Timer) *jen.Statement {
	return keyedLine("ID", jen.Lit(t.Schema.ID), "Name", jen.Lit(t.Schema.Name))
}

// processorSchema is the literal of the processor's schema.
func (e *emitter) processorSchema(proc *plan.Processor) *jen.Statement {
	var states, timers *jen.Statement
	if len(proc.States) > 0 {
		var calls []jen.Code
		for _, s := range slices.SortedFunc(slices.Values(proc.States), func(a, b *plan.State) int {
			return cmp.Compare(a.Schema.ID, b.Schema.ID)
		}) {
			calls = append(calls, e.stateFunc(proc, s).Call())
		}
		states = jen.Index().Add(schema("State")).Add(lines(calls))
	}
	if len(proc.Timers) > 0 {
		var items []jen.Code
		for _, t := range slices.SortedFunc(slices.Values(proc.Timers), func(a, b *plan.Timer) int {
			return cmp.Compare(a.Schema.ID, b.Schema.ID)
		}) {
			items = append(items, timerFields(t))
		}
		timers = jen.Index().Add(schema("Timer")).Add(lines(items))
	}
	return schema("Processor").Add(keyed(
		"Name", jen.Lit(proc.Schema.Name),
		"TimeMode", schema(modeConst[proc.Schema.TimeMode]),
		"OutputMode", schema(outputConst[proc.Schema.OutputMode]),
		"Key", e.wireType(proc.Key),
		"States", optional(states),
		"Timers", optional(timers),
	))
}

// receiver returns the receiver name that the user's own methods have, if
// nothing in BindTWS would collide with it.
func (e *emitter) receiver(proc *plan.Processor) string {
	want := strings.ToLower(string([]rune(proc.GoName)[:1]))
	if obj, ok := e.pkg.Types.Scope().Lookup(proc.GoName).(*types.TypeName); ok {
		if named, ok := obj.Type().(*types.Named); ok {
			for m := range named.Methods() {
				if name := m.Signature().Recv().Name(); name != "" && name != "_" {
					want = name
					break
				}
			}
		}
	}
	name := e.names.local(want)
	if name == e.local.binder {
		return e.names.local("proc")
	}
	return name
}
