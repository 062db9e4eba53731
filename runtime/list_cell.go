package tws

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/schemas"
)

// ListCell is the part of a generated [ListState] accessor that is the same for
// all. Every element is an entry of its own, numbered in the order of appending;
// the head entry says which numbers are in use, so appending reads no element.
//
// The head's header carries the latest expiry of all elements: when it has
// passed, the list is gone, head included.
type ListCell[T any] struct {
	cell
	codec ValueCodec[T]
	one   [1]T // what Append appends
}

// listHead says which elements a list has: numbers first <= n < next. live counts
// them, without regard to expiry.
type listHead struct {
	first, next, live uint64
	header            codec.Header
}

// Bind connects the accessor; generated code calls it.
func (c *ListCell[T]) Bind(b *Binder, s schemas.State, vc ValueCodec[T]) {
	c.bind(b, s)
	c.codec = vc
}

// All implements [ListState].
func (c *ListCell[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		if err := c.each(yield); err != nil {
			c.binder.fail(err)
		}
	}
}

// Len implements [ListState].
func (c *ListCell[T]) Len() (int, error) {
	head, ok, err := c.head()
	if err != nil || !ok {
		return 0, err
	}
	if !head.header.Expires {
		return int(head.live), nil
	}
	n := 0
	err = c.scan(head, func([]byte) (bool, error) { n++; return true, nil })
	return n, err
}

// Exists implements [ListState].
func (c *ListCell[T]) Exists() (bool, error) {
	head, ok, err := c.head()
	if err != nil || !ok {
		return false, err
	}
	if !head.header.Expires {
		return head.live > 0, nil
	}
	found := false
	err = c.scan(head, func([]byte) (bool, error) { found = true; return false, nil })
	return found, err
}

// Put implements [ListState].
func (c *ListCell[T]) Put(vs []T) error {
	if err := c.Clear(); err != nil {
		return err
	}
	return c.AppendAll(vs)
}

// Append implements [ListState].
func (c *ListCell[T]) Append(v T) error {
	c.one[0] = v
	err := c.appendEach(c.one[:])
	clear(c.one[:])
	return err
}

// AppendAll implements [ListState].
func (c *ListCell[T]) AppendAll(vs []T) error { return c.appendEach(vs) }

// Clear implements [ListState].
func (c *ListCell[T]) Clear() error {
	head, ok, err := c.head()
	if err != nil || !ok {
		return err
	}
	if err := c.deleteElements(head); err != nil {
		return err
	}
	return c.wrap(c.session().DeleteListHead(c.state.ID))
}

// deleteElements deletes what is there of a list. Without a TTL that is every
// number in use; with one, most of a long range may have vanished already.
func (c *ListCell[T]) deleteElements(head listHead) error {
	if head.header.Expires {
		_, err := c.deleteWhile(head, func(codec.Header) bool { return true })
		return err
	}
	var suffix [8]byte
	for n := head.first; n < head.next; n++ {
		if err := c.session().DeleteElement(c.state.ID, store.AppendSeq(suffix[:0], n)); err != nil {
			return c.wrap(err)
		}
	}
	return nil
}

// deleteWhile deletes elements from the front while their headers satisfy is. It
// returns the number of the first element that stays, head.next if none does.
func (c *ListCell[T]) deleteWhile(head listHead, is func(codec.Header) bool) (first uint64, err error) {
	elements, err := c.elements(head)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := elements.Close(); err == nil {
			err = c.wrap(e)
		}
	}()
	var suffix [8]byte
	for elements.Next() {
		h, _, err := codec.ReadHeader(elements.Value())
		if err != nil {
			return 0, c.wrap(err)
		}
		copy(suffix[:], elements.Suffix())
		if !is(h) {
			return binary.BigEndian.Uint64(suffix[:]), nil
		}
		if err := c.session().DeleteElement(c.state.ID, suffix[:]); err != nil {
			return 0, c.wrap(err)
		}
	}
	return head.next, c.wrap(elements.Err())
}

// trimEvery is how many appends to a list with a TTL pass between two removals of
// expired elements at its front, which keep a list that lives on from growing.
const trimEvery = 64

// trim removes expired elements from the front of a list, now and then: when the
// added elements pass a multiple of trimEvery.
func (c *ListCell[T]) trim(head listHead, added uint64) (listHead, error) {
	if !head.header.Expires || head.next-head.first < trimEvery || head.next/trimEvery == (head.next+added)/trimEvery {
		return head, nil
	}
	now := c.now()
	first, err := c.deleteWhile(head, func(h codec.Header) bool { return h.Expired(now) })
	if err != nil {
		return head, err
	}
	head.first, head.live = first, head.next-first
	return head, nil
}

// elements iterates over the entries of all elements, expired or not.
func (c *ListCell[T]) elements(head listHead) (*engine.Elements, error) {
	var from, to [8]byte
	elements, err := c.session().ScanElements(c.state.ID, store.AppendSeq(from[:0], head.first), store.AppendSeq(to[:0], head.next))
	return elements, c.wrap(err)
}

func (c *ListCell[T]) appendEach(vs []T) error {
	head, _, err := c.head()
	if err != nil || len(vs) == 0 {
		return err
	}
	if head, err = c.trim(head, uint64(len(vs))); err != nil {
		return err
	}
	h := c.header()
	var suffix [8]byte
	for i := range vs {
		if err := c.session().PutElement(c.state.ID, store.AppendSeq(suffix[:0], head.next), encode(&c.cell, h, &c.codec, &vs[i])); err != nil {
			return c.wrap(err)
		}
		head.next++
		head.live++
	}
	head.header = longerLived(head.header, h, head.live == uint64(len(vs)))
	return c.putHead(head)
}

// longerLived is the header of a list whose elements had old and get new ones
// with added. A list with an element that never expires never does.
func longerLived(old, added codec.Header, fresh bool) codec.Header {
	if fresh || !added.Expires || old.Expires && old.ExpiresAtMicros < added.ExpiresAtMicros {
		return added
	}
	old.Version = added.Version
	return old
}

// head reads the list's head; ok is false, and the head empty, if there is no
// list or all of it has expired.
func (c *ListCell[T]) head() (head listHead, ok bool, err error) {
	if err := c.check(); err != nil {
		return head, false, err
	}
	stored, ok, err := c.session().ListHead(c.state.ID)
	if err != nil || !ok {
		return head, false, c.wrap(err)
	}
	h, body, live, err := c.open(stored)
	if err != nil || !live {
		return listHead{}, false, err
	}
	r := &c.binder.reader
	r.Reset(body)
	r.Struct(3)
	head = listHead{first: r.Uint64(), next: r.Uint64(), live: r.Uint64(), header: h}
	r.EndStruct()
	if err := r.Done(); err != nil {
		return listHead{}, false, c.wrap(err)
	}
	if head.first > head.next || head.live > head.next-head.first {
		return listHead{}, false, c.wrap(fmt.Errorf("%w: list head %d..%d with %d elements", store.ErrCorrupt, head.first, head.next, head.live))
	}
	return head, true, nil
}

func (c *ListCell[T]) putHead(head listHead) error {
	b := codec.AppendHeader(c.binder.buf[:0], head.header)
	b = codec.AppendArrayHeader(b, 3)
	b = codec.AppendUint(b, head.first)
	b = codec.AppendUint(b, head.next)
	b = codec.AppendUint(b, head.live)
	c.binder.buf = b
	return c.wrap(c.session().PutListHead(c.state.ID, b))
}

func (c *ListCell[T]) each(yield func(T) bool) error {
	head, ok, err := c.head()
	if err != nil || !ok {
		return err
	}
	return c.scan(head, func(body []byte) (bool, error) {
		var v T
		if err := decode(&c.cell, &c.codec, body, &v); err != nil {
			return false, err
		}
		return yield(v), nil
	})
}

// scan calls do with the body of every live element, until do returns false.
func (c *ListCell[T]) scan(head listHead, do func(body []byte) (bool, error)) error {
	elements, err := c.elements(head)
	if err != nil {
		return err
	}
	return c.walk(elements, func(_, body []byte) (bool, error) { return do(body) })
}

// walk calls do with suffix and body of every live element, until do returns
// false, and closes the iteration.
func (c *cell) walk(elements *engine.Elements, do func(suffix, body []byte) (bool, error)) (err error) {
	defer func() {
		if e := elements.Close(); err == nil {
			err = c.wrap(e)
		}
	}()
	for elements.Next() {
		_, body, live, err := c.open(elements.Value())
		if err != nil {
			return err
		}
		if !live {
			continue
		}
		if more, err := do(elements.Suffix(), body); err != nil || !more {
			return err
		}
	}
	return c.wrap(elements.Err())
}
