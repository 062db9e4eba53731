package tws

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tws-go/tws/runtime/internal/engine"
)

// ErrOutsideCallback is returned by state and timers that are used while no
// callback of their processor runs.
var ErrOutsideCallback = engine.ErrOutsideCallback

// ErrEpochTooLarge reports that an epoch needs more memory than its budget.
// Lower the limits of an epoch or raise the budget; nothing of the epoch took
// effect.
var ErrEpochTooLarge = engine.ErrEpochTooLarge

// ErrFlowChanged marks the refusal of a flow that does not fit its checkpoint: its
// processors, their state or its target are others. Restore what was declared, or
// start from a fresh checkpoint with fresh tables and topics: all output is written
// again.
var ErrFlowChanged = engine.ErrFlowChanged

// errNullAppended is for EmitNull in a processor whose rows are never taken back.
var errNullAppended = errors.New("tws: EmitNull: the processor declares output=append, whose rows stay; declare output=update")

// ProcessorError reports that a callback failed or panicked. The epoch did not
// happen.
type ProcessorError struct {
	Processor string // its name
	Callback  string // "HandleInputRows", "HandleExpiredTimer", "Close"
	Key       string // the key, as fmt prints it, cut to 64 bytes; "" for Close
	// Stack is the stack of a panic, nil for a returned error.
	Stack []byte
	Err   error
}

func (e *ProcessorError) Error() string {
	text := fmt.Sprintf("tws: %s.%s, key %s: %v", e.Processor, e.Callback, e.Key, e.Err)
	if e.Callback == "Close" {
		text = fmt.Sprintf("tws: %s.%s: %v", e.Processor, e.Callback, e.Err)
	}
	if e.Stack != nil {
		text += "\n" + string(e.Stack)
	}
	return text
}

func (e *ProcessorError) Unwrap() error { return e.Err }

// StateError reports that a state variable could not be read or written.
type StateError struct {
	State string // the variable's name
	Err   error
}

func (e *StateError) Error() string { return "tws: state " + e.State + ": " + e.Err.Error() }

func (e *StateError) Unwrap() error { return e.Err }

// TimeModeError reports the use of timers by a processor without them.
type TimeModeError struct {
	Operation string // "register_timer", "delete_timer", "list_timers"
}

func (e *TimeModeError) Error() string {
	return "tws: " + e.Operation + ": the processor's time mode is none, which has no timers; declare time=processing"
}

// ConfigError reports configuration that cannot be used.
type ConfigError struct {
	Key    string // the configuration key, option or flag
	Reason string
}

func (e *ConfigError) Error() string { return "tws: configuration " + e.Key + ": " + e.Reason }

// errNotGenerated says what is missing when a type has no generated code.
func errNotGenerated(what string) error {
	return fmt.Errorf("tws: %s has no generated code: run go generate ./... in its module", what)
}

func wrapCallback(processor, callback string, key any, err error) error {
	var already *ProcessorError
	if errors.As(err, &already) {
		return err
	}
	e := &ProcessorError{Processor: processor, Callback: callback, Err: err}
	if key != nil {
		e.Key = keyText(key)
	}
	return e
}

func keyText(key any) string {
	const limit = 64
	text := fmt.Sprintf("%+v", key)
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
