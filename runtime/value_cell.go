package tws

import "github.com/tws-go/tws/schemas"

// ValueCell is the part of a generated [ValueState] accessor that is the same
// for all. The key's value is decoded at the first Get of a session, changed in
// memory, and encoded once, when the session ends.
type ValueCell[T any] struct {
	cell
	codec ValueCodec[T]

	known   bool // value and present are the key's
	present bool
	dirty   bool
	value   T
}

// Bind connects the accessor; generated code calls it.
func (c *ValueCell[T]) Bind(b *Binder, s schemas.State, vc ValueCodec[T]) {
	c.bind(b, s)
	c.codec = vc
}

// Get implements [ValueState].
func (c *ValueCell[T]) Get() (v T, ok bool, err error) {
	if err := c.load(); err != nil || !c.present {
		return v, false, err
	}
	return c.codec.clone(&c.value), true, nil
}

// Exists implements [ValueState].
func (c *ValueCell[T]) Exists() (bool, error) {
	err := c.load()
	return c.present && err == nil, err
}

// Update implements [ValueState].
func (c *ValueCell[T]) Update(v T) error {
	if err := c.check(); err != nil {
		return err
	}
	c.touch()
	c.value = c.codec.clone(&v)
	c.known, c.present, c.dirty = true, true, true
	return nil
}

// Clear implements [ValueState].
func (c *ValueCell[T]) Clear() error {
	if err := c.load(); err != nil || !c.present {
		return err
	}
	c.present, c.dirty = false, true
	return nil
}

func (c *ValueCell[T]) load() error {
	if err := c.check(); err != nil || c.known {
		return err
	}
	stored, ok, err := c.session().Value(c.state.ID)
	if err != nil {
		return c.wrap(err)
	}
	if ok {
		var body []byte
		if _, body, ok, err = c.open(stored); err != nil {
			return err
		}
		if ok {
			if err := decode(&c.cell, &c.codec, body, &c.value); err != nil {
				return err
			}
		}
	}
	c.touch()
	c.known, c.present = true, ok
	return nil
}

// touch makes sure that the session's end forgets the value.
func (c *ValueCell[T]) touch() {
	if !c.known {
		c.binder.dirty = append(c.binder.dirty, c)
	}
}

func (c *ValueCell[T]) flush() error {
	var err error
	switch {
	case c.dirty && c.present:
		err = c.session().PutValue(c.state.ID, encode(&c.cell, c.header(), &c.codec, &c.value))
	case c.dirty:
		err = c.session().DeleteValue(c.state.ID)
	}
	var zero T
	c.known, c.present, c.dirty, c.value = false, false, false, zero
	return c.wrap(err)
}
