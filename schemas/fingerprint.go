package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Fingerprint names everything a checkpoint depends on in one line of text,
// "sha256:" and 64 hexadecimal digits: two processors with equal fingerprints
// are equal, down to names and TTLs. The order of the slices States and Timers
// does not matter, only their ids do. A different fingerprint is not an error
// by itself; see [Compatible].
func (p Processor) Fingerprint() string {
	p.States = slices.Clone(p.States)
	slices.SortFunc(p.States, func(a, b State) int { return a.ID - b.ID })
	p.Timers = slices.Clone(p.Timers)
	slices.SortFunc(p.Timers, func(a, b Timer) int { return a.ID - b.ID })
	return fingerprint(p)
}

// Fingerprint names a type in one line of text, as [Processor.Fingerprint] does.
func (t Type) Fingerprint() string { return fingerprint(t) }

func fingerprint(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		// Schemas hold strings, integers and booleans only: Marshal cannot fail.
		panic("schemas: fingerprint: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// String returns the type as diagnostics and listings show it: "int64",
// "optional<string>", "list<Reading>".
func (t Type) String() string {
	text := string(t.Kind)
	switch {
	case t.Kind == List && t.Elem != nil:
		text = "list<" + t.Elem.String() + ">"
	case t.Kind == Struct && t.Name != "":
		text = t.Name
	case t.Kind == Struct:
		text = "struct{" + fieldsText(t.Fields) + "}"
	case t.Kind == "":
		text = "invalid"
	}
	if t.Optional {
		return "optional<" + text + ">"
	}
	return text
}

func fieldsText(fields []Field) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, f.Name+" "+f.Type.String())
	}
	return strings.Join(parts, ", ")
}
