package tws

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/schemas"
)

// TransformWithState sends each key's rows through a processor. factory makes an
// instance for each state partition, and one more to ask for its declarations;
// it must give all of them the same configuration.
func TransformWithState[K, In, B, Out any, P StatefulProcessor[K, In, Out]](g Grouped[K, In, B], factory func() P) S[Out, B] {
	in := g.stream.made("TransformWithState")
	f := in.flow
	t := &transform[K, In, Out]{
		factory: func() StatefulProcessor[K, In, Out] { return factory() },
		out:     newNode[Out](f),
	}
	first := t.factory()
	if v := reflect.ValueOf(first); v.Kind() == reflect.Pointer && v.IsNil() {
		f.fail(fmt.Errorf("the factory of %s returns nil: return a new processor for each call", reflect.TypeFor[P]()))
		return S[Out, B]{t.out}
	}
	t.made = append(t.made, first)
	t.binding = first.BindTWS(&Binder{})
	if t.binding.Processor.Name == "" {
		f.fail(errNotGenerated(reflect.TypeFor[P]().String()))
		return S[Out, B]{t.out}
	}
	if t.binding.Fingerprint != t.binding.Processor.Fingerprint() {
		f.fail(fmt.Errorf("processor %s: the generated code does not match its own fingerprint, as after a merge or an edit by hand: run go generate ./... in its module", t.binding.Processor.Name))
	}
	t.event = t.binding.Processor.TimeMode == schemas.TimeEvent
	if t.event && !in.timed {
		f.fail(fmt.Errorf("processor %s: time=event needs a watermark on its input: call WithWatermark between the source and the first TransformWithState, or use time=processing", t.binding.Processor.Name))
	}
	t.out.timed, t.out.after = in.timed, t.binding.Processor.Name
	t.useRows(f.pipeline)
	stage := &engine.Stage{Schema: t.binding.Processor, Exchange: new(engine.Exchange), Open: t.open}
	f.stages = append(f.stages, stage)
	g.stream.consume(func(lane int) push[In] { return t.input(stage.Exchange.Lane(lane), g.key) })
	return S[Out, B]{t.out}
}

// transform is a processor in a flow.
type transform[K, In, Out any] struct {
	factory func() StatefulProcessor[K, In, Out]
	binding Binding[K, In, Out]
	out     *node[Out]
	made    []StatefulProcessor[K, In, Out] // by factory so far
	event   bool                            // the time mode is event
}

// instance makes a processor, and makes sure that it is a new one: the states of
// one instance cannot be those of two partitions.
func (t *transform[K, In, Out]) instance() (StatefulProcessor[K, In, Out], error) {
	p := t.factory()
	if typ := reflect.TypeOf(p); typ.Kind() == reflect.Pointer && typ.Elem().Size() > 0 {
		for _, other := range t.made {
			if other == p {
				return nil, fmt.Errorf("tws: processor %s: its factory returns one %s for several state partitions: make a new one in each call",
					t.binding.Processor.Name, typ.Elem())
			}
		}
	}
	t.made = append(t.made, p)
	return p, nil
}

// useRows makes the processor's row codecs known to the pipeline, for sources
// and sinks whose row type is of another package.
func (t *transform[K, In, Out]) useRows(p *Pipeline) {
	UseRow(p, t.binding.In)
	UseRow(p, t.binding.Out)
}

// input returns the consumer that sends rows into a lane of the exchange.
func (t *transform[K, In, Out]) input(lane *engine.Lane, keyOf func(In) K) push[In] {
	var key, encoded []byte
	return func(row *In, meta *rowMeta) error {
		if meta.null {
			return fmt.Errorf("tws: processor %s: its input has a row from EmitNull, which only a sink takes", t.binding.Processor.Name)
		}
		if t.event && meta.late() {
			return nil
		}
		key = t.binding.Key.Append(key[:0], keyOf(*row))
		encoded = t.binding.In.Append(encoded[:0], row)
		return lane.Put(key, encoded)
	}
}

func (t *transform[K, In, Out]) open(partition int, s *engine.Session) (engine.Instance, error) {
	p, err := t.instance()
	if err != nil {
		return nil, err
	}
	i := &instance[K, In, Out]{name: t.binding.Processor.Name, processor: p, binder: &Binder{session: s}}
	i.binding = i.processor.BindTWS(i.binder)
	if i.binding.Processor.Name == "" {
		return nil, errNotGenerated(fmt.Sprintf("%T", i.processor))
	}
	call := callContext{session: s, timers: i.binding.Processor.TimeMode != schemas.TimeNone, run: func() context.Context { return i.ctx }}
	i.input, i.timer = InputContext{call}, TimerContext{call}
	i.out = emitter[Out]{
		down: t.out.consumer(partition), session: s,
		nulls: i.binding.Processor.OutputMode != schemas.OutputAppend,
	}
	i.seq = i.eachRow
	i.timers = map[int]string{}
	for _, t := range i.binding.Processor.Timers {
		i.timers[t.ID] = t.Name
	}
	return i, nil
}

// instance runs a processor in one state partition.
type instance[K, In, Out any] struct {
	name      string
	processor StatefulProcessor[K, In, Out]
	binder    *Binder
	binding   Binding[K, In, Out]
	timers    map[int]string // names by id
	input     InputContext
	timer     TimerContext
	out       emitter[Out]
	seq       iter.Seq[In]

	// The call that runs.
	ctx    context.Context // lent to the callback through its own context type
	key    K
	reader codec.KeyReader
	rows   *engine.Rows
	row    In
	rowErr error
}

// Input implements engine.Instance.
func (i *instance[K, In, Out]) Input(ctx context.Context, key []byte, rows *engine.Rows) error {
	if err := i.begin(ctx, key); err != nil {
		return err
	}
	i.rows = rows
	return i.finish("HandleInputRows", i.handleInput())
}

func (i *instance[K, In, Out]) handleInput() (err error) {
	defer i.catch("HandleInputRows", &err)
	return i.processor.HandleInputRows(&i.input, i.key, i.seq, &i.out)
}

// Timer implements engine.Instance.
func (i *instance[K, In, Out]) Timer(ctx context.Context, key []byte, t engine.FiredTimer) error {
	if err := i.begin(ctx, key); err != nil {
		return err
	}
	return i.finish("HandleExpiredTimer", i.handleTimer(ExpiredTimer{
		at: time.UnixMicro(t.Micros).UTC(), name: i.timers[t.ID],
	}))
}

func (i *instance[K, In, Out]) handleTimer(t ExpiredTimer) (err error) {
	defer i.catch("HandleExpiredTimer", &err)
	return i.processor.HandleExpiredTimer(&i.timer, i.key, t, &i.out)
}

// Close implements engine.Instance.
func (i *instance[K, In, Out]) Close() error {
	if err := i.close(); err != nil {
		return wrapCallback(i.name, "Close", nil, err)
	}
	return nil
}

func (i *instance[K, In, Out]) close() (err error) {
	defer i.catch("Close", &err)
	return i.processor.Close()
}

func (i *instance[K, In, Out]) begin(ctx context.Context, key []byte) error {
	i.reader.Reset(key)
	i.key = i.binding.Key.Read(&i.reader)
	if err := i.reader.Done(); err != nil {
		return fmt.Errorf("tws: processor %s: grouping key %x: %w", i.name, key, err)
	}
	i.ctx, i.rowErr = ctx, nil
	i.out.begin(key)
	return nil
}

// finish ends a callback: it fails if the callback did, or if anything it used
// has failed, even when the callback kept that to itself.
func (i *instance[K, In, Out]) finish(callback string, err error) error {
	for _, hidden := range []error{i.rowErr, i.out.err, i.binder.stateErr} {
		if hidden != nil && !errors.Is(err, hidden) {
			err = errors.Join(err, hidden)
		}
	}
	if err == nil {
		err = i.binder.flush()
	}
	i.rows = nil
	if err == nil {
		return nil
	}
	return wrapCallback(i.name, callback, i.key, err)
}

// catch turns a panic of the processor into an error.
func (i *instance[K, In, Out]) catch(callback string, err *error) {
	if r := recover(); r != nil {
		p := &ProcessorError{Processor: i.name, Callback: callback, Stack: debug.Stack(), Err: fmt.Errorf("panic: %v", r)}
		if cause, ok := r.(error); ok {
			p.Err = fmt.Errorf("panic: %w", cause)
		}
		if callback != "Close" {
			p.Key = keyText(i.key)
		}
		*err = p
	}
}

// eachRow is the sequence of a callback's input rows.
func (i *instance[K, In, Out]) eachRow(yield func(In) bool) {
	for i.rows != nil {
		encoded, ok := i.rows.Next()
		if !ok {
			return
		}
		// Into a zero row: the callback may keep what a row refers to.
		var zero In
		i.row = zero
		if err := i.binding.In.Decode(encoded, &i.row); err != nil {
			i.rowErr = err
			return
		}
		if !yield(i.row) {
			return
		}
	}
}

// emitter hands a callback's output on.
type emitter[Out any] struct {
	down    push[Out]
	session session
	nulls   bool // the output mode has them
	meta    rowMeta
	row     Out
	err     error
}

func (e *emitter[Out]) begin(key []byte) { e.meta.key, e.err = key, nil }

// Emit implements [Emitter].
func (e *emitter[Out]) Emit(row Out) error {
	e.meta.null = false
	return e.emit(row)
}

// EmitNull implements [Emitter].
func (e *emitter[Out]) EmitNull(row Out) error {
	if !e.nulls {
		return e.failed(errNullAppended)
	}
	e.meta.null = true
	return e.emit(row)
}

func (e *emitter[Out]) emit(row Out) error {
	if !e.session.Active() {
		return ErrOutsideCallback
	}
	e.row = row
	return e.failed(e.down(&e.row, &e.meta))
}

// failed notes the first error of a callback.
func (e *emitter[Out]) failed(err error) error {
	if e.err == nil {
		e.err = err
	}
	return err
}
