package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// entryVersion is the version of the journal entries written here.
const entryVersion = 1

// entry is what one Discover found out, as written to the journal.
type entry struct {
	Version int `json:"v"`
	// Add numbers new files, on from the files that are known, by their path
	// relative to the folder, with slashes.
	Add []fileName `json:"add,omitempty"`
	// Heads says how files begin, so that one that is rewritten is noticed.
	Heads []head `json:"heads,omitempty"`
	// Reopen makes sealed files open again that changed before they were read to
	// their end.
	Reopen []reopen `json:"reopen,omitempty"`
	// Seal fixes the end of files, new ones included.
	Seal []seal `json:"seal,omitempty"`
	// Take moves the end of open files beyond an unfinished last line.
	Take []take `json:"take,omitempty"`
	// Close closes all files that are sealed, by this entry or before.
	Close bool `json:"close,omitempty"`
	// Once says that the listing of a bounded source is complete.
	Once bool `json:"once,omitempty"`
}

// seal fixes the end of a file.
type seal struct {
	File int32 `json:"file"`
	Size int64 `json:"size"`
	// ModifiedNanos is the file's modification time in nanoseconds since 1970; 0
	// if the file is gone.
	ModifiedNanos int64 `json:"modified_ns"`
}

// head is a checksum of a file's first bytes.
type head struct {
	File int32 `json:"file"`
	Size int64 `json:"size"`
	// Sum is the CRC-32C of the first Size bytes.
	Sum uint32 `json:"crc32c"`
}

// reopen says that a file is read on from At, whatever its end was.
type reopen struct {
	File int32 `json:"file"`
	At   int64 `json:"at"`
}

// take says that a file's unfinished last line was taken up to End.
type take struct {
	File int32 `json:"file"`
	End  int64 `json:"end"`
}

// empty reports whether the entry says nothing.
func (e *entry) empty() bool {
	return len(e.Add) == 0 && len(e.Heads) == 0 && len(e.Reopen) == 0 && len(e.Seal) == 0 && len(e.Take) == 0 && !e.Close && !e.Once
}

// encode returns the entry as it is written to the journal.
func (e *entry) encode() ([]byte, error) {
	return marshalPlain(e)
}

// marshalPlain is json.Marshal without its escapes for HTML: names stay readable.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decodeEntry strictly decodes one journal entry.
func decodeEntry(b []byte) (*entry, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	e := new(entry)
	if err := dec.Decode(e); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	if e.Version != entryVersion {
		return nil, fmt.Errorf("version %d, want %d", e.Version, entryVersion)
	}
	return e, nil
}

// ofOtherKind reports whether an entry is sound JSON without our version: what
// another kind of source has written, which the flow read under this name.
func ofOtherKind(b []byte) bool {
	var ours struct {
		Version *int `json:"v"`
	}
	return json.Unmarshal(b, &ours) == nil && ours.Version == nil
}

// fileName is a relative path as the operating system has it. In JSON it is a
// string, or, where it is not valid UTF-8, {"base64": …}.
type fileName string

type rawName struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON keeps all bytes of the name.
func (n fileName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return marshalPlain(string(n))
	}
	return json.Marshal(rawName{Base64: []byte(n)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *fileName) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var raw rawName
		err := json.Unmarshal(b, &raw)
		*n = fileName(raw.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(n))
}

// knownFile is a file that has a number.
type knownFile struct {
	name     string // relative, with slashes
	sealed   bool
	closed   bool
	end      int64 // of what may be read; the sealed size when sealed
	taken    int64 // the end of a last line that was taken unfinished
	head     head  // of size 0 if it is not known
	modified int64 // when sealed, in nanoseconds since 1970

	// The rest is not in the journal.

	// seenSize and seenModified are the file as it was when its head was compared.
	seenSize, seenModified int64

	asked   bool  // end was found or confirmed in this run
	scanned int64 // no line ends between end and here
	warned  bool  // the user knows that the file changed after it was sealed
}

// ledger is what the journal says: the numbered files and their states.
type ledger struct {
	files  []knownFile
	number map[string]int32
	// listed holds the numbers of the files that are not closed, rising:
	// those that positions mention.
	listed []int32
	// complete says that a bounded source has been listed.
	complete bool
}

// load rebuilds the ledger from the journal.
func (l *ledger) load(journal [][]byte) error {
	l.number = map[string]int32{}
	for i, b := range journal {
		if ofOtherKind(b) {
			return fmt.Errorf("the checkpoint has a source of another kind under this name: give this one a Name of its own to start over, or read the other one again (journal entry %d of %d)", i+1, len(journal))
		}
		e, err := decodeEntry(b)
		if err == nil {
			err = l.apply(e)
		}
		if err != nil {
			return fmt.Errorf("journal entry %d of %d is damaged: %w: restore the checkpoint from a copy", i+1, len(journal), err)
		}
	}
	return nil
}

// apply makes the ledger say what e says, or fails and is then of no use.
func (l *ledger) apply(e *entry) error {
	for _, name := range e.Add {
		if err := l.add(string(name)); err != nil {
			return err
		}
	}
	for _, h := range e.Heads {
		if h.File < 0 || int(h.File) >= len(l.files) || h.Size < 1 || h.Size > headSize {
			return fmt.Errorf("a head of %d bytes of file %d, there are %d files", h.Size, h.File, len(l.files))
		}
		l.files[h.File].head = h
	}
	for _, r := range e.Reopen {
		if err := l.reopen(r); err != nil {
			return err
		}
	}
	for _, s := range e.Seal {
		if err := l.seal(s); err != nil {
			return err
		}
	}
	for _, t := range e.Take {
		if err := l.take(t); err != nil {
			return err
		}
	}
	if e.Close {
		l.listed = slices.DeleteFunc(l.listed, func(n int32) bool {
			l.files[n].closed = l.files[n].sealed
			return l.files[n].sealed
		})
	}
	l.complete = l.complete || e.Once
	return nil
}

func (l *ledger) add(name string) error {
	switch _, known := l.number[name]; {
	case known:
		return fmt.Errorf("file %q is listed twice", name)
	case name == "." || !filepath.IsLocal(name) || path.Clean(name) != name:
		return fmt.Errorf("file name %q is not a path inside the folder", name)
	case len(l.files) == math.MaxInt32:
		return fmt.Errorf("file %q would be number %d, the limit: start over with a new checkpoint", name, len(l.files))
	}
	n := int32(len(l.files))
	l.files = append(l.files, knownFile{name: name})
	l.number[name] = n
	l.listed = append(l.listed, n)
	return nil
}

func (l *ledger) reopen(r reopen) error {
	if r.File < 0 || int(r.File) >= len(l.files) {
		return fmt.Errorf("file %d does not exist, there are %d", r.File, len(l.files))
	}
	f := &l.files[r.File]
	if !f.sealed || r.At < 0 || r.At >= f.end {
		return fmt.Errorf("file %d (%q) is reopened at %d, but is open or was read to %d", r.File, f.name, r.At, f.end)
	}
	if i, listed := slices.BinarySearch(l.listed, r.File); !listed {
		l.listed = slices.Insert(l.listed, i, r.File)
	}
	*f = knownFile{name: f.name, end: r.At, taken: r.At, head: f.head}
	return nil
}

func (l *ledger) seal(s seal) error {
	f, err := l.open(s.File)
	if err != nil {
		return err
	}
	if s.Size < 1 || s.Size < f.taken {
		return fmt.Errorf("file %d (%q) is sealed at size %d, below what was read", s.File, f.name, s.Size)
	}
	f.sealed, f.end, f.modified = true, s.Size, s.ModifiedNanos
	return nil
}

func (l *ledger) take(t take) error {
	f, err := l.open(t.File)
	if err != nil {
		return err
	}
	if t.End <= f.taken {
		return fmt.Errorf("file %d (%q) is taken to %d, not beyond %d", t.File, f.name, t.End, f.taken)
	}
	f.end, f.taken = t.End, t.End
	return nil
}

// open returns file n, which must not be sealed.
func (l *ledger) open(n int32) (*knownFile, error) {
	if n < 0 || int(n) >= len(l.files) {
		return nil, fmt.Errorf("file %d does not exist, there are %d", n, len(l.files))
	}
	if l.files[n].sealed {
		return nil, fmt.Errorf("file %d (%q) is sealed already", n, l.files[n].name)
	}
	return &l.files[n], nil
}

// end returns the place of the end as far as it is known.
func (l *ledger) end() place {
	p := place{next: int32(len(l.files))}
	for _, n := range l.listed {
		p.open = append(p.open, openFile{file: n, offset: l.files[n].end})
	}
	return p
}
