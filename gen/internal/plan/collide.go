package plan

import (
	"go/token"
	"go/types"

	"github.com/tws-go/tws/gen/internal/diag"
)

// collisions reports declarations that stand in the way of generated ones whose
// names are fixed. All other generated names give way to the user's.
func (pl *planner) collisions() {
	scope := pl.src.Types.Scope()
	wired := len(pl.out.Tables)+len(pl.out.Sinks)+len(pl.out.Flows) > 0
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		switch {
		case types.Universe.Lookup(name) != nil:
			pl.report(obj.Pos(), diag.Predeclared, "rename it", "package %s redeclares the predeclared identifier %s", pl.src.Name, name)
		case name == "Register" && wired:
			pl.collision(obj.Pos(), name, "the generated function that adds the package to a pipeline")
		}
	}
	pl.accessors()
	pl.methods()
}

func (pl *planner) collision(pos token.Pos, name, with string) {
	pl.report(pos, diag.Collision, "rename it", "%s collides with %s", name, with)
}

// accessors reports state fields whose accessors would have the same name, as
// A.BC and AB.C have.
func (pl *planner) accessors() {
	made := make(map[string]string)
	for _, p := range pl.out.Processors {
		for _, s := range p.States {
			label := p.GoName + "." + s.Field
			name := lowerCamel(p.GoName) + upperFirst(s.Field)
			if other, ok := made[name]; ok {
				pl.diags.Add(s.Pos, diag.Collision, "rename one of the fields; its tag keeps the name of the state",
					"states %s and %s both lead to the accessor type %s", other, label, name)
			}
			made[name] = label
		}
	}
}

// methods reports what collides with the generated methods.
func (pl *planner) methods() {
	for _, p := range pl.out.Processors {
		if obj := pl.src.Types.Scope().Lookup(p.GoName); obj != nil {
			pl.member(obj.Type(), "BindTWS")
		}
	}
	for _, r := range pl.out.Rows {
		if r.Own {
			pl.member(r.Struct.Go, "TWSRow")
		}
	}
}

// member reports a method or field of t itself that has the name.
func (pl *planner) member(t types.Type, name string) {
	report := func(obj types.Object) {
		if obj.Name() == name {
			pl.collision(obj.Pos(), pl.typeString(t)+"."+name, "the generated method of that name")
		}
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		for m := range named.Methods() {
			report(m)
		}
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			report(f)
		}
	}
}
