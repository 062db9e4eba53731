package kafka

import (
	"fmt"
	"reflect"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

// valueEncoder appends the value of a row. It is safe for concurrent use.
type valueEncoder[T any] func(dst []byte, row *T) ([]byte, error)

// newValueEncoder returns the encoder of a format, or says why T has none.
func newValueEncoder[T any](format Format, row *stream.Row[T]) (valueEncoder[T], error) {
	name := reflect.TypeFor[T]().String()
	generate := func(what string) error {
		return fmt.Errorf("type %s has no %s encoder: run go generate in its package", name, what)
	}
	switch format {
	case JSON:
		if row == nil || row.AppendJSON == nil {
			return nil, generate("JSON")
		}
		return row.AppendJSON, nil
	case Msgpack:
		if row == nil || row.Append == nil {
			return nil, generate("msgpack")
		}
		return func(dst []byte, v *T) ([]byte, error) { return row.Append(dst, v), nil }, nil
	case Raw:
		if _, ok := any((*T)(nil)).(*[]byte); ok {
			return func(dst []byte, v *T) ([]byte, error) { return append(dst, *any(v).(*[]byte)...), nil }, nil
		}
		return nil, fmt.Errorf("format %s needs rows of type []byte, not %s", format, name)
	case String:
		if _, ok := any((*T)(nil)).(*string); ok {
			return func(dst []byte, v *T) ([]byte, error) { return append(dst, *any(v).(*string)...), nil }, nil
		}
		return nil, fmt.Errorf("format %s needs rows of type string, not %s", format, name)
	}
	return nil, fmt.Errorf("field Format is %d: use kafka.JSON, Msgpack, Raw or String", format)
}

// recordEncoder makes entries of rows, as a sink describes them. It is safe for
// concurrent use.
type recordEncoder[T any] struct {
	value     valueEncoder[T]
	key       func(T) []byte
	headers   func(T) []Header
	timestamp func(T) time.Time
	partition func(T) int32
	typeName  string
	limit     int // of a record's bytes
	topic     string
	// checkPartition fails if the topic has no such partition.
	checkPartition func(int32) error
}

// append appends the entry of a row, or of its key alone, and returns the bytes of
// key and value. In case of an error, dst is as it was.
func (e *recordEncoder[T]) append(dst []byte, row *T, null bool) (out []byte, size int, err error) {
	var key []byte
	if e.key != nil {
		key = e.key(*row)
	}
	if null && key == nil {
		return dst, 0, e.tombstoneError()
	}
	partition := int32(-1)
	if e.partition != nil {
		partition = e.partition(*row)
		if err := e.checkPartition(partition); err != nil {
			return dst, 0, err
		}
	}
	out, head := beginEntry(dst, key, partition)
	if !null {
		if out, err = e.value(out, row); err != nil {
			return dst, 0, fmt.Errorf("kafka: topic %s: encode a row of type %s: %w", e.topic, e.typeName, err)
		}
		head.value(out)
	}
	size = len(out) - head.at - entryHead
	if e.timestamp != nil {
		if t := e.timestamp(*row); !t.IsZero() {
			head.time(out, t)
		}
	}
	if e.headers != nil {
		headers := e.headers(*row)
		if len(headers) > maxHeaders {
			return dst, 0, fmt.Errorf("kafka: topic %s: a row has %d headers, at most %d are possible", e.topic, len(headers), maxHeaders)
		}
		out = head.headers(out, headers)
	}
	if n := len(out) - head.at - entryHead; n > e.limit {
		return dst, 0, e.sizeError(key, n)
	}
	return out, size, nil
}

func (e *recordEncoder[T]) tombstoneError() error {
	if e.key == nil {
		return fmt.Errorf("kafka: topic %s: a row without a value becomes a record with a key and no value, but the sink has no Key: set Sink.Key", e.topic)
	}
	return fmt.Errorf("kafka: topic %s: a row without a value becomes a record with a key and no value, but Key returned nil for it", e.topic)
}

// shownKey bounds how much of a key a message shows.
const shownKey = 64

func (e *recordEncoder[T]) sizeError(key []byte, n int) error {
	return fmt.Errorf("kafka: topic %s: the record with key %q has %d bytes, the topic takes %d (max.message.bytes): raise it, or write smaller rows",
		e.topic, key[:min(len(key), shownKey)], n, e.limit)
}
