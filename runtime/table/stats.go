package table

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tws-go/tws/schemas"
)

const (
	// maxStatColumns is how many columns have statistics, the number that
	// Delta's own writers take by default. It bounds what a commit costs.
	maxStatColumns = 32
	// maxStatChars is the longest string, in characters, that statistics hold
	// whole.
	maxStatChars = 32
)

// columnStats gathers the statistics of one column of one file. Its methods do
// nothing on nil, for columns without statistics.
type columnStats struct {
	col   *column
	nulls int64
	// some says that there is a value, and so that the bounds hold.
	some bool
	// unbounded says that a value has no place in an order or in JSON, so that
	// there are no bounds: NaN, infinity, and all binary values.
	unbounded            bool
	minBits, maxBits     uint64
	minBytes, maxBytes   []byte
	minMemory, maxMemory [maxStatChars * utf8.UTFMax]byte
}

func (s *columnStats) null() {
	if s != nil {
		s.nulls++
	}
}

// num takes in a value of fixed size.
func (s *columnStats) num(bits uint64) {
	if s == nil {
		return
	}
	switch s.col.kind {
	case schemas.Bool:
		s.unbounded = true // bounds of booleans help nobody
	case schemas.Float32, schemas.Float64:
		f := math.Float64frombits(bits)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			s.unbounded = true
		}
	}
	if !s.some || s.less(bits, s.minBits) {
		s.minBits = bits
	}
	if !s.some || s.less(s.maxBits, bits) {
		s.maxBits = bits
	}
	s.some = true
}

func (s *columnStats) less(a, b uint64) bool {
	switch s.col.kind {
	case schemas.Uint64:
		return a < b
	case schemas.Float32, schemas.Float64:
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		// -0 is below 0 here, so the bounds are right for either order.
		return x < y || x == y && math.Signbit(x) && !math.Signbit(y)
	}
	return int64(a) < int64(b)
}

// bytes takes in a value of variable size. p belongs to the caller.
func (s *columnStats) bytes(p []byte) {
	if s == nil {
		return
	}
	if s.col.kind == schemas.Bytes {
		s.unbounded = true
		return
	}
	if s.unbounded {
		return
	}
	if low := prefix(p); !s.some || bytes.Compare(low, s.minBytes) < 0 {
		s.minBytes = append(s.minMemory[:0], low...)
	}
	if high, ok := upper(p); !ok {
		s.unbounded = true
	} else if !s.some || bytes.Compare(high, s.maxBytes) > 0 {
		s.maxBytes = append(s.maxMemory[:0], high...)
	}
	s.some = true
}

// prefix returns at most the first maxStatChars characters of p, which order at
// or before p.
func prefix(p []byte) []byte {
	n := 0
	for range maxStatChars {
		if n == len(p) {
			break
		}
		_, size := utf8.DecodeRune(p[n:])
		n += size
	}
	return p[:n]
}

// upper returns a string of at most maxStatChars characters that orders at or
// after p: p itself, or a prefix of it with the greatest character there is for
// the rest. ok is false in the freak case that the rest begins with that one.
func upper(p []byte) (high []byte, ok bool) {
	if len(prefix(p)) == len(p) {
		return p, true
	}
	n := 0
	for range maxStatChars - 1 {
		_, size := utf8.DecodeRune(p[n:])
		n += size
	}
	if next, _ := utf8.DecodeRune(p[n:]); next == utf8.MaxRune {
		return nil, false
	}
	return utf8.AppendRune(p[:n:n], utf8.MaxRune), true
}

// min and max return the bounds as JSON. ok is false when there are none.
func (s *columnStats) bounds() (low, high json.RawMessage, ok bool) {
	if !s.some || s.unbounded {
		return nil, nil, false
	}
	if s.col.kind == schemas.String {
		return quote(string(s.minBytes)), quote(string(s.maxBytes)), true
	}
	return s.number(s.minBits), s.number(s.maxBits), true
}

func (s *columnStats) number(bits uint64) json.RawMessage {
	switch s.col.kind {
	case schemas.Uint64:
		return strconv.AppendUint(nil, bits, 10)
	case schemas.Float32, schemas.Float64:
		return appendFloat(nil, math.Float64frombits(bits), 64)
	case schemas.Timestamp:
		return quote(time.UnixMicro(int64(bits)).UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	return strconv.AppendInt(nil, int64(bits), 10)
}

func quote(s string) json.RawMessage {
	text, err := marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return text
}

// fileStats is the statistics of one file as an add action carries them. The
// maps come out of encoding/json in key order, so equal rows give equal text.
type fileStats struct {
	NumRecords int64                      `json:"numRecords"`
	MinValues  map[string]json.RawMessage `json:"minValues"`
	MaxValues  map[string]json.RawMessage `json:"maxValues"`
	NullCount  map[string]int64           `json:"nullCount"`
}

// newStats returns one entry for each leaf of the row, nil for those without
// statistics: what is nested, and what comes late.
func newStats(row *column) []*columnStats {
	stats := make([]*columnStats, row.leaves)
	for i, c := range row.children {
		if len(c.children) == 0 && i < maxStatColumns {
			stats[c.firstLeaf] = &columnStats{col: c}
		}
	}
	return stats
}

// statsText returns the statistics of a file as an add action's text.
func statsText(rows int64, columns []*columnStats) (string, error) {
	f := fileStats{
		NumRecords: rows,
		MinValues:  map[string]json.RawMessage{},
		MaxValues:  map[string]json.RawMessage{},
		NullCount:  map[string]int64{},
	}
	for _, s := range columns {
		if s == nil {
			continue
		}
		f.NullCount[s.col.name] = s.nulls
		if low, high, ok := s.bounds(); ok {
			f.MinValues[s.col.name], f.MaxValues[s.col.name] = low, high
		}
	}
	text, err := marshal(f)
	return string(text), err
}
