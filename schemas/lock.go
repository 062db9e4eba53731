package schemas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// LockFile is the name of the lock file in the folder of its package.
const LockFile = "tws.lock.json"

// LockFormat is the newest lock format this package reads and the one it writes.
const LockFormat = 1

// Lock gives every processor, state, timer and struct field of one package its
// id, for ever: an id belongs to the name it was given to, and one whose name
// is gone stays behind, marked as removed, so that it is not given out again.
//
// The file is JSON in one canonical form: processors and structs sorted by
// name, the rest by id, one state, timer or field per line, and a checksum over
// everything before it as the last key. It is committed with the sources.
type Lock struct {
	Processors []LockedProcessor // in order of name
	Structs    []LockedStruct    // in order of name
}

// LockedProcessor holds the ids of one processor.
type LockedProcessor struct {
	Name string `json:"name"`
	// Removed is true if the sources do not declare it any more.
	Removed     bool          `json:"removed,omitempty"`
	NextStateID int           `json:"next_state_id"`
	NextTimerID int           `json:"next_timer_id"`
	Key         Type          `json:"key"` // structs by name, without fields
	States      []LockedState `json:"states"`
	Timers      []LockedTimer `json:"timers"`
}

// LockedState is a state variable and its id. Structs in its types are given by
// name, without fields.
type LockedState struct {
	State
	Removed bool `json:"removed,omitempty"`
}

// LockedTimer is a timer and its id.
type LockedTimer struct {
	Timer
	Removed bool `json:"removed,omitempty"`
}

// LockedStruct holds the field ids of one struct.
type LockedStruct struct {
	Name        string        `json:"name"`
	Removed     bool          `json:"removed,omitempty"`
	NextFieldID int           `json:"next_field_id"`
	Fields      []LockedField `json:"fields"`
}

// LockedField is a field and its id.
type LockedField struct {
	Field
	Removed bool `json:"removed,omitempty"`
}

// The ways in which a lock file can be unusable, for errors.Is.
var (
	// ErrLockDamaged: not the JSON it should be, in conflict, or contradictory.
	ErrLockDamaged = errors.New("lock file is damaged")
	// ErrLockEdited: the content does not match the checksum.
	ErrLockEdited = errors.New("lock file was edited by hand")
	// ErrLockNewer: written by a newer version.
	ErrLockNewer = errors.New("lock file has a newer format")
)

// lockFile is the file's form.
type lockFile struct {
	Format     int               `json:"format"`
	Processors []LockedProcessor `json:"processors"`
	Structs    []LockedStruct    `json:"structs"`
	Sum        string            `json:"sum"`
}

// ReadLock reads the content of a lock file. It fails with an error that is
// [ErrLockDamaged], [ErrLockEdited] or [ErrLockNewer] and says what is wrong;
// it never returns part of a lock. Line ends and indentation do not matter.
func ReadLock(content []byte) (*Lock, error) {
	if line := conflictLine(content); line > 0 {
		return nil, fmt.Errorf("schemas: %w: merge conflict marker in line %d", ErrLockDamaged, line)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return nil, damaged(content, err)
	}
	switch {
	case version.Format > LockFormat:
		return nil, fmt.Errorf("schemas: %w: it is format %d, and this version knows up to %d", ErrLockNewer, version.Format, LockFormat)
	case version.Format < 1:
		return nil, fmt.Errorf("schemas: %w: it names no format", ErrLockDamaged)
	}
	var file lockFile
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, damaged(content, err)
	}
	lock := &Lock{Processors: file.Processors, Structs: file.Structs}
	if err := lock.validate(); err != nil {
		return nil, fmt.Errorf("schemas: %w: %w", ErrLockDamaged, err)
	}
	if want := checksum(lock.body()); file.Sum != want {
		return nil, fmt.Errorf("schemas: %w: its content has the checksum %s, and it says %q", ErrLockEdited, want, file.Sum)
	}
	return lock, nil
}

func damaged(content []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(content[:min(int(syntax.Offset), len(content))], []byte("\n"))
		return fmt.Errorf("schemas: %w: line %d: %w", ErrLockDamaged, line, err)
	}
	return fmt.Errorf("schemas: %w: %w", ErrLockDamaged, err)
}

func conflictLine(content []byte) int {
	line := 0
	for text := range bytes.Lines(content) {
		line++
		for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if bytes.HasPrefix(text, []byte(marker)) {
				return line
			}
		}
	}
	return 0
}

// Marshal returns the file's content. Equal locks have equal content.
func (l *Lock) Marshal() []byte {
	body := l.body()
	return fmt.Appendf(body, "  \"sum\": %q\n}\n", checksum(body))
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// body returns the content up to the checksum.
func (l *Lock) body() []byte {
	processors := slices.Clone(l.Processors)
	slices.SortFunc(processors, func(a, b LockedProcessor) int { return strings.Compare(a.Name, b.Name) })
	structs := slices.Clone(l.Structs)
	slices.SortFunc(structs, func(a, b LockedStruct) int { return strings.Compare(a.Name, b.Name) })

	var w lockWriter
	w.line("{")
	w.line("  %q: %d,", "format", LockFormat)
	w.open("  ", "processors")
	for i, p := range processors {
		w.processor(p, i == len(processors)-1)
	}
	w.line("  ],")
	w.open("  ", "structs")
	for i, s := range structs {
		w.structure(s, i == len(structs)-1)
	}
	w.line("  ],")
	return w.buf
}

type lockWriter struct{ buf []byte }

func (w *lockWriter) line(format string, args ...any) {
	w.buf = fmt.Appendf(w.buf, format+"\n", args...)
}

func (w *lockWriter) open(indent, key string) { w.line("%s%q: [", indent, key) }

func (w *lockWriter) processor(p LockedProcessor, last bool) {
	states := slices.Clone(p.States)
	slices.SortFunc(states, func(a, b LockedState) int { return a.ID - b.ID })
	timers := slices.Clone(p.Timers)
	slices.SortFunc(timers, func(a, b LockedTimer) int { return a.ID - b.ID })
	w.line("    {")
	w.name(p.Name, p.Removed)
	w.line("      %q: %d,", "next_state_id", p.NextStateID)
	w.line("      %q: %d,", "next_timer_id", p.NextTimerID)
	w.line("      %q: %s,", "key", compact(p.Key))
	w.open("      ", "states")
	items(w, states)
	w.line("      ],")
	w.open("      ", "timers")
	items(w, timers)
	w.line("      ]")
	w.close(last)
}

func (w *lockWriter) structure(s LockedStruct, last bool) {
	fields := slices.Clone(s.Fields)
	slices.SortFunc(fields, func(a, b LockedField) int { return a.ID - b.ID })
	w.line("    {")
	w.name(s.Name, s.Removed)
	w.line("      %q: %d,", "next_field_id", s.NextFieldID)
	w.open("      ", "fields")
	items(w, fields)
	w.line("      ]")
	w.close(last)
}

func (w *lockWriter) name(name string, removed bool) {
	w.line("      %q: %s,", "name", compact(name))
	if removed {
		w.line("      %q: true,", "removed")
	}
}

func (w *lockWriter) close(last bool) {
	if last {
		w.line("    }")
	} else {
		w.line("    },")
	}
}

// items writes each item on a line of its own, so that changes merge.
func items[T any](w *lockWriter, list []T) {
	for i, item := range list {
		comma := ","
		if i == len(list)-1 {
			comma = ""
		}
		w.line("        %s%s", compact(item), comma)
	}
}

// compact returns v as JSON without HTML escapes, on one line.
func compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Locks hold strings, integers and booleans only: Encode cannot fail.
		panic("schemas: marshal lock: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// Processor returns the entry of a processor that is not removed, or nil.
func (l *Lock) Processor(name string) *LockedProcessor {
	for i := range l.Processors {
		if p := &l.Processors[i]; p.Name == name && !p.Removed {
			return p
		}
	}
	return nil
}

// Struct returns the entry of a struct, removed or not, or nil.
func (l *Lock) Struct(name string) *LockedStruct {
	for i := range l.Structs {
		if l.Structs[i].Name == name {
			return &l.Structs[i]
		}
	}
	return nil
}

// Stored returns the names of all structs that are part of a state or key which
// is not removed, directly or within other structs.
func (l *Lock) Stored() map[string]bool {
	stored := make(map[string]bool)
	for _, p := range l.Processors {
		if p.Removed {
			continue
		}
		l.reach(p.Key, stored)
		for _, s := range p.States {
			if s.Removed {
				continue
			}
			if s.Key != nil {
				l.reach(*s.Key, stored)
			}
			l.reach(s.Value, stored)
		}
	}
	return stored
}

func (l *Lock) reach(t Type, stored map[string]bool) {
	switch {
	case t.Kind == List:
		l.reach(*t.Elem, stored)
	case t.Kind == Struct && !stored[t.Name]:
		stored[t.Name] = true
		for _, f := range l.Struct(t.Name).Fields {
			if !f.Removed {
				l.reach(f.Type, stored)
			}
		}
	}
}
