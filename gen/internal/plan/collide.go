package plan

import (
	"go/token"
	"go/types"
	"strings"
	"unicode"

	"github.com/tws-go/tws/gen/internal/diag"
)

// Accessor is the name of the type behind a state field: heartbeatSensor for
// Heartbeat.Sensor. Names of generated functions about the state are made of
// the same parts.
func (p *Processor) Accessor(s *State) string {
	return lowerCamel(p.GoName) + upperFirst(s.Field)
}

// Constructor is the name of the function that makes the accessor:
// newHeartbeatSensor.
func (p *Processor) Constructor(s *State) string { return "new" + upperFirst(p.Accessor(s)) }

// Descriptor is the name of the function that describes the state:
// twsHeartbeatSensorState.
func (p *Processor) Descriptor(s *State) string { return "tws" + upperFirst(p.Accessor(s)) + "State" }

// collisions reports declarations that stand in the way of generated ones.
func (pl *planner) collisions() {
	scope := pl.src.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		switch {
		case types.Universe.Lookup(name) != nil:
			pl.report(obj.Pos(), diag.Predeclared, "rename it", "package %s redeclares the predeclared identifier %s", pl.src.Name, name)
		case name == "Register":
			pl.collision(obj.Pos(), name, "the generated function that adds the package to a pipeline")
		case reserved(name):
			pl.collision(obj.Pos(), name, "names of generated functions, which begin with tws")
		}
	}
	pl.accessors(scope)
	pl.methods()
}

// reserved reports whether a name is tws and a capital letter.
func reserved(name string) bool {
	rest, ok := strings.CutPrefix(name, "tws")
	return ok && rest != "" && unicode.IsUpper([]rune(rest)[0])
}

func (pl *planner) collision(pos token.Pos, name, with string) {
	pl.report(pos, diag.Collision, "rename it", "%s collides with %s", name, with)
}

// accessors reports what collides with the names made for state fields.
func (pl *planner) accessors(scope *types.Scope) {
	made := make(map[string]string)
	for _, p := range pl.out.Processors {
		for _, s := range p.States {
			label := p.GoName + "." + s.Field
			for _, name := range []string{p.Accessor(s), p.Constructor(s)} {
				if obj := scope.Lookup(name); obj != nil {
					pl.collision(obj.Pos(), name, "what is generated for state "+label)
				}
				if other, ok := made[name]; ok && other != label {
					pl.diags.Add(s.Pos, diag.Collision, "rename one of the fields; its tag keeps the name of the state",
						"states %s and %s both lead to the generated name %s", other, label, name)
				}
				made[name] = label
			}
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

func (pl *planner) member(t types.Type, name string) {
	obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, pl.src.Types, name)
	if obj != nil && len(index) == 1 {
		pl.collision(obj.Pos(), pl.typeString(t)+"."+name, "the generated method of that name")
	}
}
