package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tws-go/tws/runtime/stream"
)

// place is a decoded position: an offset for every file. Files from next on are
// at 0, those in open at their offset, the others at their sealed size.
type place struct {
	next int32
	open []openFile // by rising number, all below next
}

type openFile struct {
	file   int32
	offset int64
}

// find returns the index of file n in open.
func (p *place) find(n int32) (int, bool) {
	return slices.BinarySearchFunc(p.open, n, func(o openFile, n int32) int { return int(o.file) - int(n) })
}

// encode returns the position's canonical bytes: numbers rise, no files at 0 at
// the end, nil for the start.
func (p place) encode() stream.Position {
	for i := len(p.open); i > 0 && p.open[i-1] == (openFile{file: p.next - 1}); i-- {
		p.next, p.open = p.next-1, p.open[:i-1]
	}
	if p.next == 0 {
		return nil
	}
	b := append([]byte(nil), `{"next":`...)
	b = strconv.AppendInt(b, int64(p.next), 10)
	for i, o := range p.open {
		if i == 0 {
			b = append(b, `,"open":{`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(o.file), 10)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, o.offset, 10)
	}
	if len(p.open) > 0 {
		b = append(b, '}')
	}
	return append(b, '}')
}

// decodePlace decodes a position. Whitespace is tolerated, anything else that
// encode does not write is damage.
func decodePlace(pos stream.Position) (place, error) {
	var p place
	if len(pos) == 0 {
		return p, nil
	}
	var doc struct {
		Next int32           `json:"next"`
		Open map[int32]int64 `json:"open"`
	}
	if err := json.Unmarshal(pos, &doc); err != nil {
		return p, fmt.Errorf("position %.200q is damaged: %w", pos, err)
	}
	p.next = doc.Next
	for n, offset := range doc.Open {
		p.open = append(p.open, openFile{file: n, offset: offset})
	}
	slices.SortFunc(p.open, func(a, b openFile) int { return int(a.file) - int(b.file) })
	if !p.valid() || !sameJSON(p.encode(), pos) {
		return p, fmt.Errorf("position %.200q is damaged: it is not of the form {\"next\":2,\"open\":{\"1\":100}}", pos)
	}
	return p, nil
}

// valid reports whether all numbers are in range.
func (p *place) valid() bool {
	if p.next < 0 {
		return false
	}
	for _, o := range p.open {
		if o.file < 0 || o.file >= p.next || o.offset < 0 {
			return false
		}
	}
	return true
}

// sameJSON reports whether b without its whitespace is a.
func sameJSON(a, b []byte) bool {
	var c bytes.Buffer
	return json.Compact(&c, b) == nil && bytes.Equal(a, c.Bytes())
}

// resolve decodes a position and checks that it fits the journal.
func (l *ledger) resolve(pos stream.Position) (place, error) {
	p, err := decodePlace(pos)
	if err != nil {
		return p, err
	}
	if int(p.next) > len(l.files) {
		return p, fmt.Errorf("position %.200q speaks of file %d, but the journal has %d files", pos, p.next-1, len(l.files))
	}
	for _, o := range p.open {
		if f := &l.files[o.file]; f.sealed && o.offset > f.end {
			return p, fmt.Errorf("position %.200q is beyond the end of file %d (%q), which is %d", pos, o.file, f.name, f.end)
		}
	}
	for _, n := range l.listed {
		if _, ok := p.find(n); !ok && n < p.next && !l.files[n].sealed {
			return p, fmt.Errorf("position %.200q calls file %d (%q) finished, but the journal does not", pos, n, l.files[n].name)
		}
	}
	return p, nil
}

// offset returns the offset of file n at place p.
func (l *ledger) offset(p *place, n int32) int64 {
	if n >= p.next {
		return 0
	}
	if i, ok := p.find(n); ok {
		return p.open[i].offset
	}
	return l.files[n].end
}

// between yields the numbers of the files in which from and to may differ.
func between(from, to *place) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for _, o := range from.open {
			if !yield(o.file) {
				return
			}
		}
		for n := from.next; n < to.next; n++ {
			if !yield(n) {
				return
			}
		}
	}
}
