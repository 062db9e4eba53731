package plan

import (
	"go/types"
	"slices"
	"strings"

	"github.com/tws-go/tws/gen/internal/diag"
)

const (
	inputHandler = "HandleInputRows"
	timerHandler = "HandleExpiredTimer"
)

// handlerTypes returns the methods of tws.StatefulProcessor[K, In, Out] that are
// the user's to write, by name, none if the arguments are not complete.
func (pl *planner) handlerTypes(args *types.TypeList) map[string]*types.Signature {
	handlers := make(map[string]*types.Signature)
	obj := pl.runtime.Scope().Lookup("StatefulProcessor")
	if obj == nil || args.Len() != 3 {
		return handlers
	}
	t, err := types.Instantiate(nil, obj.Type(), slices.Collect(args.Types()), false)
	if err != nil {
		return handlers
	}
	methods, ok := t.Underlying().(*types.Interface)
	if !ok {
		return handlers
	}
	for m := range methods.Methods() {
		if m.Name() != "BindTWS" {
			handlers[m.Name()] = m.Signature()
		}
	}
	return handlers
}

// handlers checks a processor's handler methods.
func (pl *planner) handlers(p *Processor, obj *types.TypeName, args *types.TypeList) {
	handlers := pl.handlerTypes(args)
	if handlers[inputHandler] == nil || handlers[timerHandler] == nil {
		pl.report(obj.Pos(), diag.Undefined, "update both to the same version: go get github.com/tws-go/tws@latest",
			"package %s declares no handler %s: it does not fit this tws-gen", RuntimePath, inputHandler)
		return
	}
	if embedsEndlessly(obj.Type()) {
		pl.report(obj.Pos(), diag.Recursive, "embed a type that embeds no other instance of itself",
			"processor %s embeds structs without end", p.GoName)
		return
	}
	set := types.NewMethodSet(types.NewPointer(obj.Type()))
	own := make(map[string]bool)
	for name := range handlers {
		selection := set.Lookup(pl.src.Types, name)
		if selection == nil || fromRuntime(selection.Obj()) {
			continue
		}
		own[name] = true
		pl.handler(p, selection.Obj().(*types.Func), handlers[name])
	}
	pl.misspelt(p, obj, handlers, own)
	if !own[inputHandler] {
		pl.report(obj.Pos(), diag.HandlerMissing, "declare "+pl.methodText(p, inputHandler, handlers[inputHandler]),
			"processor %s has no method %s", p.GoName, inputHandler)
	}
	if len(p.Timers) > 0 && !own[timerHandler] {
		pl.report(obj.Pos(), diag.TimerHandler, "declare "+pl.methodText(p, timerHandler, handlers[timerHandler])+", or remove the timer",
			"processor %s declares timer %s and has no method %s", p.GoName, p.Timers[0].Field, timerHandler)
	}
}

func fromRuntime(obj types.Object) bool {
	return obj.Pkg() != nil && obj.Pkg().Path() == RuntimePath
}

// handler checks one handler that the user has written.
func (pl *planner) handler(p *Processor, method *types.Func, want *types.Signature) {
	have := method.Signature()
	if !types.Identical(have, want) {
		pl.report(method.Pos(), diag.HandlerForm, "change the signature to the wanted one",
			"%s.%s has the wrong signature\n\t\thave %s\n\t\twant %s",
			p.GoName, method.Name(), pl.signatureText(have), pl.signatureText(want))
	}
	if _, pointer := types.Unalias(have.Recv().Type()).(*types.Pointer); !pointer {
		pl.report(method.Pos(), diag.ValueReceiver, "make the receiver a pointer: *"+pl.typeString(have.Recv().Type()),
			"%s.%s has a value receiver, so that it works on a copy of the processor", p.GoName, method.Name())
	}
}

func (pl *planner) signatureText(sig *types.Signature) string {
	return strings.TrimPrefix(pl.typeString(sig), "func")
}

// methodText is the declaration of a handler for p.
func (pl *planner) methodText(p *Processor, name string, sig *types.Signature) string {
	return "func (p *" + p.GoName + ") " + name + pl.signatureText(sig)
}

// misspelt reports methods that are nearly named like a handler which the
// processor does not have.
func (pl *planner) misspelt(p *Processor, obj *types.TypeName, handlers map[string]*types.Signature, own map[string]bool) {
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return
	}
	var missing []string
	for name := range handlers {
		if !own[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	for method := range named.Methods() {
		if handlers[method.Name()] != nil || !strings.HasPrefix(strings.ToLower(method.Name()), "handle") {
			continue
		}
		near := diag.Nearest(method.Name(), missing)
		if near == "" {
			continue
		}
		own[near] = true // one complaint is enough
		pl.report(method.Pos(), diag.HandlerName, "rename it to "+near+", or to something less alike",
			"%s.%s is not a handler; did you mean %s?", p.GoName, method.Name(), near)
	}
}
