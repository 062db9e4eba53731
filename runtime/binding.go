package tws

import (
	"fmt"
	"math"
	"time"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/schemas"
)

// session is the engine's view of one key, on bytes.
type session = *engine.Session

// Binding is what a processor's generated BindTWS returns: everything the engine
// must know of the type.
type Binding[K, In, Out any] struct {
	Processor schemas.Processor
	// Fingerprint identifies the annotations that the code was generated from.
	Fingerprint string
	Key         KeyCodec[K]
	In          *Row[In]
	Out         *Row[Out]
}

// KeyCodec encodes and decodes a grouping key or the keys of a map, so that
// encoded keys order as the keys do and end where they end.
type KeyCodec[K any] struct {
	Append func(dst []byte, k K) []byte
	Read   func(r *codec.KeyReader) K
}

// ValueCodec encodes, decodes and copies the values of a state variable.
type ValueCodec[T any] struct {
	Append func(dst []byte, v *T) []byte
	Decode func(r *codec.Reader, v *T)
	// Clone returns a deep copy; nil if a plain copy is one.
	Clone func(v *T) T
}

func (c ValueCodec[T]) clone(v *T) T {
	if c.Clone == nil {
		return *v
	}
	return c.Clone(v)
}

// Binder connects the accessors of one processor instance with the session that
// the engine moves from key to key.
type Binder struct {
	session session
	dirty   []flusher // accessors with something to write or forget at the session's end
	reader  codec.Reader
	buf     []byte
	// stateErr is the first error that state met in the running session. It fails
	// the session even if the callback ignores it, as inside an iteration it must.
	stateErr error
}

// flusher is an accessor that keeps something while a session lasts.
type flusher interface{ flush() error }

// flush ends a session on the accessors' side.
func (b *Binder) flush() error {
	err := b.stateErr
	for _, f := range b.dirty {
		if e := f.flush(); err == nil {
			err = e
		}
	}
	b.dirty, b.stateErr = b.dirty[:0], nil
	return err
}

// fail makes the session fail at its end, whatever the callback returns.
func (b *Binder) fail(err error) {
	if b.stateErr == nil {
		b.stateErr = err
	}
}

// cell is what the accessors of all kinds of state have in common.
type cell struct {
	binder *Binder
	state  schemas.State
}

func (c *cell) bind(b *Binder, s schemas.State) { c.binder, c.state = b, s }

// check fails outside callbacks and before binding.
func (c *cell) check() error {
	if c.binder == nil {
		return errNotGenerated("a state field")
	}
	if c.binder.session == nil || !c.binder.session.Active() {
		return &StateError{State: c.state.Name, Err: ErrOutsideCallback}
	}
	return nil
}

func (c *cell) session() session { return c.binder.session }

// wrap names the variable in an error, which fails the session.
func (c *cell) wrap(err error) error {
	if err == nil {
		return nil
	}
	err = &StateError{State: c.state.Name, Err: err}
	c.binder.fail(err)
	return err
}

func (c *cell) now() int64 { return c.binder.session.NowMicros() }

// header is the header of a value written now.
func (c *cell) header() codec.Header {
	h := codec.Header{Version: c.state.Version}
	if c.state.TTLMicros > 0 {
		h.Expires = true
		h.ExpiresAtMicros = addMicros(c.now(), c.state.TTLMicros)
	}
	return h
}

// addMicros adds without running over the end of time.
func addMicros(at, d int64) int64 {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// encode returns header and value as they are stored, in a buffer that the next
// call reuses.
func encode[T any](c *cell, h codec.Header, vc *ValueCodec[T], v *T) []byte {
	c.binder.buf = codec.AppendHeader(c.binder.buf[:0], h)
	c.binder.buf = vc.Append(c.binder.buf, v)
	return c.binder.buf
}

// open checks a stored value's header. live is false if the value has expired.
func (c *cell) open(b []byte) (h codec.Header, body []byte, live bool, err error) {
	h, body, err = codec.ReadHeader(b)
	if err != nil {
		return h, nil, false, c.wrap(err)
	}
	if h.Expired(c.now()) {
		return h, nil, false, nil
	}
	if h.Version > c.state.Version {
		return h, nil, false, c.wrap(fmt.Errorf("a value has schema version %d, this program knows versions up to %d: run the program that wrote it, or a newer one", h.Version, c.state.Version))
	}
	return h, body, true, nil
}

func decode[T any](c *cell, vc *ValueCodec[T], body []byte, v *T) error {
	r := &c.binder.reader
	r.Reset(body)
	vc.Decode(r, v)
	return c.wrap(r.Done())
}

// namedTimer is the accessor behind a Timer field.
type namedTimer struct {
	binder *Binder
	timer  schemas.Timer
}

// NewTimer returns the accessor of a named timer.
func NewTimer(b *Binder, t schemas.Timer) Timer { return &namedTimer{binder: b, timer: t} }

func (t *namedTimer) Set(at time.Time) error {
	if err := t.check(); err != nil {
		return err
	}
	micros, err := instantMicros(at)
	if err == nil {
		err = t.binder.session.SetTimer(t.timer.ID, micros)
	}
	return t.wrap(err)
}

func (t *namedTimer) Stop() error {
	if err := t.check(); err != nil {
		return err
	}
	return t.wrap(t.binder.session.StopTimer(t.timer.ID))
}

func (t *namedTimer) Get() (time.Time, bool, error) {
	if err := t.check(); err != nil {
		return time.Time{}, false, err
	}
	micros, ok, err := t.binder.session.NamedTimer(t.timer.ID)
	if err != nil || !ok {
		return time.Time{}, false, t.wrap(err)
	}
	return time.UnixMicro(micros).UTC(), true, nil
}

// check fails for a processor that no pipeline runs.
func (t *namedTimer) check() error {
	if t.binder.session == nil {
		return t.wrap(ErrOutsideCallback)
	}
	return nil
}

func (t *namedTimer) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tws: timer %s: %w", t.timer.Name, err)
}

// instantMicros rounds an instant up to a microsecond, so that a timer never
// fires early.
func instantMicros(at time.Time) (int64, error) {
	micros := at.UnixMicro()
	if !time.UnixMicro(micros).Equal(at) {
		if at.Year() < -290000 || at.Year() > 294000 {
			return 0, fmt.Errorf("tws: instant %s is out of the range of timers", at)
		}
		micros++
	}
	return micros, nil
}
