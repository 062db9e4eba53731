package plan

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"time"

	"github.com/tws-go/tws/gen/internal/annot"
	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/schemas"
)

// processorFields plans states and timers and checks the other fields.
func (pl *planner) processorFields(p *Processor, s *ast.StructType, marker *ast.Field) {
	states := &names{pl: pl, what: "states", whom: " of " + p.GoName}
	timers := &names{pl: pl, what: "timers", whom: " of " + p.GoName}
	for _, field := range s.Fields.List {
		if field == marker {
			continue
		}
		t := pl.src.Info.TypeOf(field.Type)
		if t == nil || invalid(t) {
			pl.undefined(field.Type, "field "+p.GoName+"."+fieldLabel(field))
			continue
		}
		name, args := runtimeType(t)
		switch {
		case !isHandle(t):
			pl.configField(p, field, t)
		case len(field.Names) == 0:
			pl.stray(field.Pos(), "embedded "+pl.typeString(t)+" in "+p.GoName)
		default:
			tag := annot.ParseTag(field.Tag, pl.report)
			pl.sharedTag(field, tag)
			for _, ident := range field.Names {
				if ident.Name == "_" {
					pl.stray(ident.Pos(), "blank field of "+p.GoName)
				} else if name == timerType {
					pl.timer(p, field, ident, tag, timers)
				} else {
					pl.state(p, field, ident, tag, name, args, states)
				}
			}
		}
	}
}

// sharedTag reports a name that several fields of one line would get.
func (pl *planner) sharedTag(field *ast.Field, tag *annot.Tag) {
	if len(field.Names) > 1 && tag != nil && tag.Name != "" {
		pl.report(tag.NamePos, diag.DuplicateName, "declare the fields one by one, each with its own tag",
			"the name %s applies to %d fields", tag.Name, len(field.Names))
		tag.Name = ""
	}
}

// configField checks a field that is the user's own.
func (pl *planner) configField(p *Processor, field *ast.Field, t types.Type) {
	label := p.GoName + "." + fieldLabel(field)
	if holdsHandle(t) {
		pl.stray(field.Type.Pos(), "field "+label+" has type "+pl.typeString(t))
		return
	}
	if len(field.Names) == 0 && embedsProcessor(t) {
		pl.report(field.Pos(), diag.ProcessorForm, "give the field a name", "%s embeds another processor, %s", p.GoName, pl.typeString(t))
	}
	if tag := annot.ParseTag(field.Tag, pl.report); tag != nil {
		pl.report(tag.Pos, diag.StrayTag, "remove the tag, or make the field a tws.ValueState, ListState, MapState or Timer",
			"field %s has type %s, which takes no tws tag", label, pl.typeString(t))
	}
}

// tagName returns the name of a field of a processor and where it stands.
func (pl *planner) tagName(p *Processor, ident *ast.Ident, tag *annot.Tag) (string, token.Pos, bool) {
	name, pos, given := lowerCamel(ident.Name), ident.Pos(), false
	if tag != nil && tag.Name != "" {
		name, pos, given = tag.Name, tag.NamePos, true
	}
	return name, pos, pl.name(pos, "field "+p.GoName+"."+ident.Name, name, given)
}

func (pl *planner) timer(p *Processor, field *ast.Field, ident *ast.Ident, tag *annot.Tag, unique *names) {
	t := &Timer{Field: ident.Name, Doc: docText(field.Doc), Pos: pl.src.Position(ident.Pos())}
	name, pos, ok := pl.tagName(p, ident, tag)
	t.Schema.Name = name
	ok = ok && unique.take(pos, name)
	if tag != nil {
		for _, o := range tag.Options {
			pl.unknownOption(o, "a timer")
		}
	}
	if p.Schema.TimeMode == schemas.TimeNone {
		pl.report(ident.Pos(), diag.TimerMode, "set time=processing in the tag of tws.Processor, or remove the timer",
			"timer %s of %s would never expire: the processor has time=none", ident.Name, p.GoName)
	}
	if ok {
		p.Timers = append(p.Timers, t)
	}
}

func (pl *planner) state(p *Processor, field *ast.Field, ident *ast.Ident, tag *annot.Tag, kind string, args *types.TypeList, unique *names) {
	s := &State{Field: ident.Name, Doc: docText(field.Doc), Pos: pl.src.Position(ident.Pos())}
	name, pos, ok := pl.tagName(p, ident, tag)
	ok = ok && unique.take(pos, name)
	s.Schema = schemas.State{Name: name, Kind: stateKinds[kind], Version: 1}
	if tag != nil {
		for _, o := range tag.Options {
			if o.Key == "ttl" {
				pl.ttl(p, s, o)
			} else {
				pl.unknownOption(o, "a "+string(s.Schema.Kind)+" state", "ttl")
			}
		}
	}
	exprs := typeArgs(field.Type)
	root := use{pos: field.Type.Pos(), root: "state " + p.GoName + "." + ident.Name}
	at := func(i int) use {
		u := root
		if i < len(exprs) {
			u.pos = exprs[i].Pos()
		}
		return u
	}
	if s.Schema.Kind == schemas.MapState {
		key := at(0)
		key.root = "the map key of " + p.GoName + "." + ident.Name
		s.Key = pl.key(args.At(0), key)
	}
	s.Value = pl.value(args.At(args.Len()-1), at(args.Len()-1))
	if ok {
		p.States = append(p.States, s)
	}
}

func (pl *planner) ttl(p *Processor, s *State, o annot.Option) {
	const fix = "write a number and a unit, as in ttl=90s, ttl=1h30m or ttl=24h"
	if p.Schema.TimeMode != schemas.TimeProcessing {
		pl.report(o.Pos, diag.TTLMode, "set time=processing in the tag of tws.Processor, or remove the ttl",
			"state %s has a TTL, which needs time=processing; %s has time=%s", s.Field, p.GoName, p.Schema.TimeMode)
	}
	d, err := time.ParseDuration(o.Value)
	switch {
	case err != nil && tooLong(o.Value):
		pl.report(o.Pos, diag.OptionValue, "leave the option out if values are to stay for ever", "%s is longer than 292 years", o)
	case err != nil:
		pl.report(o.Pos, diag.OptionValue, fix, "%s is not a duration", o)
	case d <= 0:
		pl.report(o.Pos, diag.OptionValue, "write a TTL above zero, or remove the option for none", "%s is not above zero", o)
	case d%time.Microsecond != 0:
		pl.report(o.Pos, diag.OptionValue, "round it to whole microseconds", "%s is finer than a microsecond", o)
	}
	s.Schema.TTLMicros = d.Microseconds()
}

// tooLong reports whether a text that is no duration has the form of one.
func tooLong(s string) bool {
	unit := strings.TrimLeft(s, "0123456789.")
	_, err := time.ParseDuration("1" + unit)
	return err == nil && unit != s
}
