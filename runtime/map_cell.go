package tws

import (
	"bytes"
	"iter"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/schemas"
)

// MapCell is the part of a generated [MapState] accessor that is the same for
// all. Every entry of the map is an entry of the store, in the order of the
// map's encoded keys.
type MapCell[K, V any] struct {
	cell
	keys   KeyCodec[K]
	codec  ValueCodec[V]
	suffix []byte
	reader codec.KeyReader
}

// Bind connects the accessor; generated code calls it.
func (c *MapCell[K, V]) Bind(b *Binder, s schemas.State, kc KeyCodec[K], vc ValueCodec[V]) {
	c.bind(b, s)
	c.keys, c.codec = kc, vc
}

// Get implements [MapState].
func (c *MapCell[K, V]) Get(k K) (v V, ok bool, err error) {
	body, ok, err := c.find(k)
	if err != nil || !ok {
		return v, false, err
	}
	err = decode(&c.cell, &c.codec, body, &v)
	return v, err == nil, err
}

// Contains implements [MapState].
func (c *MapCell[K, V]) Contains(k K) (bool, error) {
	_, ok, err := c.find(k)
	return ok, err
}

// Exists implements [MapState].
func (c *MapCell[K, V]) Exists() (bool, error) {
	found := false
	err := c.scan(nil, nil, func(_, _ []byte) (bool, error) { found = true; return false, nil })
	return found, err
}

// Update implements [MapState].
func (c *MapCell[K, V]) Update(k K, v V) error {
	if err := c.check(); err != nil {
		return err
	}
	c.suffix = c.keys.Append(c.suffix[:0], k)
	return c.wrap(c.session().PutElement(c.state.ID, c.suffix, encode(&c.cell, c.header(), &c.codec, &v)))
}

// Remove implements [MapState].
func (c *MapCell[K, V]) Remove(k K) error {
	if err := c.check(); err != nil {
		return err
	}
	c.suffix = c.keys.Append(c.suffix[:0], k)
	_, ok, err := c.session().Element(c.state.ID, c.suffix)
	if err != nil || !ok {
		return c.wrap(err)
	}
	return c.wrap(c.session().DeleteElement(c.state.ID, c.suffix))
}

// Clear implements [MapState].
func (c *MapCell[K, V]) Clear() error {
	if err := c.check(); err != nil {
		return err
	}
	elements, err := c.session().ScanElements(c.state.ID, nil, nil)
	if err != nil {
		return c.wrap(err)
	}
	defer elements.Close()
	for elements.Next() {
		c.suffix = append(c.suffix[:0], elements.Suffix()...)
		if err := c.session().DeleteElement(c.state.ID, c.suffix); err != nil {
			return c.wrap(err)
		}
	}
	return c.wrap(elements.Err())
}

// All implements [MapState].
func (c *MapCell[K, V]) All() iter.Seq2[K, V] { return c.entries(nil, nil) }

// Range implements [MapState].
func (c *MapCell[K, V]) Range(from, to K) iter.Seq2[K, V] {
	lower, upper := c.keys.Append(nil, from), c.keys.Append(nil, to)
	if bytes.Compare(lower, upper) >= 0 {
		return func(func(K, V) bool) {}
	}
	return c.entries(lower, upper)
}

// Keys implements [MapState].
func (c *MapCell[K, V]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		c.iterate(nil, nil, func(suffix, _ []byte) (bool, error) {
			k, err := c.key(suffix)
			return err == nil && yield(k), err
		})
	}
}

// Values implements [MapState].
func (c *MapCell[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		c.iterate(nil, nil, func(_, body []byte) (bool, error) {
			var v V
			err := decode(&c.cell, &c.codec, body, &v)
			return err == nil && yield(v), err
		})
	}
}

func (c *MapCell[K, V]) entries(from, to []byte) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.iterate(from, to, func(suffix, body []byte) (bool, error) {
			k, err := c.key(suffix)
			if err != nil {
				return false, err
			}
			var v V
			err = decode(&c.cell, &c.codec, body, &v)
			return err == nil && yield(k, v), err
		})
	}
}

// iterate is scan for iterators, whose errors fail the session.
func (c *MapCell[K, V]) iterate(from, to []byte, do func(suffix, body []byte) (bool, error)) {
	if err := c.scan(from, to, do); err != nil {
		c.binder.fail(err)
	}
}

func (c *MapCell[K, V]) scan(from, to []byte, do func(suffix, body []byte) (bool, error)) error {
	if err := c.check(); err != nil {
		return err
	}
	elements, err := c.session().ScanElements(c.state.ID, from, to)
	if err != nil {
		return c.wrap(err)
	}
	return c.walk(elements, do)
}

func (c *MapCell[K, V]) find(k K) (body []byte, ok bool, err error) {
	if err := c.check(); err != nil {
		return nil, false, err
	}
	c.suffix = c.keys.Append(c.suffix[:0], k)
	stored, ok, err := c.session().Element(c.state.ID, c.suffix)
	if err != nil || !ok {
		return nil, false, c.wrap(err)
	}
	_, body, ok, err = c.open(stored)
	return body, ok, err
}

func (c *MapCell[K, V]) key(suffix []byte) (K, error) {
	c.reader.Reset(suffix)
	k := c.keys.Read(&c.reader)
	return k, c.wrap(c.reader.Done())
}
