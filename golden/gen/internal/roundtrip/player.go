package roundtrip

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// player is a column reader that gives back what a recorder remembered.
type player struct {
	calls []call
	// lists has the elements that are left in each open list.
	lists []int
	err   error
}

// take takes the next call, which must be of the given method.
func take[T any](p *player, method string) (arg T) {
	if p.err != nil {
		return arg
	}
	if len(p.calls) == 0 || p.calls[0].method != method {
		p.err = fmt.Errorf("%s is read in front of %v", method, p.calls)
		return arg
	}
	arg, _ = p.calls[0].arg.(T)
	p.calls = p.calls[1:]
	return arg
}

func (p *player) Null() bool {
	if p.err == nil && len(p.calls) > 0 && p.calls[0].method == "Null" {
		p.calls = p.calls[1:]
		return true
	}
	return p.err != nil
}

func (p *player) Int(size int) int64 {
	v := take[int64](p, "Int")
	if size < 64 && (v < -1<<(size-1) || v >= 1<<(size-1)) {
		p.err = fmt.Errorf("%d is read as a number of %d bits", v, size)
	}
	return v
}

func (p *player) Uint(size int) uint64 {
	v := take[uint64](p, "Uint")
	if bits.Len64(v) > size {
		p.err = fmt.Errorf("%d is read as a number of %d bits", v, size)
	}
	return v
}

func (p *player) Float(size int) float64 {
	v := take[float64](p, "Float")
	if size == 32 && !math.IsNaN(v) && float64(float32(v)) != v {
		p.err = fmt.Errorf("%v is read as a number of 32 bits", v)
	}
	return v
}

func (p *player) Bool() bool              { return take[bool](p, "Bool") }
func (p *player) String() string          { return take[string](p, "String") }
func (p *player) Bytes() []byte           { return []byte(take[string](p, "Bytes")) }
func (p *player) Time() time.Time         { return take[time.Time](p, "Time") }
func (p *player) Duration() time.Duration { return take[time.Duration](p, "Duration") }
func (p *player) BeginStruct()            { take[any](p, "BeginStruct") }
func (p *player) EndStruct()              { take[any](p, "EndStruct") }
func (p *player) BeginList()              { p.lists = append(p.lists, take[int](p, "BeginList")) }

func (p *player) NextElem() bool {
	last := len(p.lists) - 1
	if p.err == nil && p.lists[last] > 0 {
		p.lists[last]--
		return true
	}
	p.lists = p.lists[:last]
	take[any](p, "EndList")
	return false
}
