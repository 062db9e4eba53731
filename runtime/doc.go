// Package tws is what annotated code imports: processors, their state and timers,
// streams, flows, tables, sinks and the pipeline that runs them.
//
// The import path ends in runtime, the package is called tws:
//
//	import tws "github.com/tws-go/tws/runtime"
//
// # Model
//
// A processor is a struct that embeds [Processor] and has state fields:
// [ValueState], [ListState], [MapState] and [Timer]. Each variable holds one
// value, list, map or timer for every key; inside a callback it is that of the
// key the callback was called for. tws-gen generates the accessors behind the
// fields and the codecs of all types involved.
//
// A flow reads streams, groups them by key, sends them through processors and
// ends in a target: a [StreamingTable] or a [Sink]. A [Pipeline] runs flows, each
// with its own epochs. An epoch is one batch of input, all or nothing: its output
// becomes visible and its state changes take effect exactly once, whatever
// happens in between.
//
// # For users
//
// See docs/start.md for a first pipeline and docs/reference/annotations.md for
// the annotations. The package examples/heartbeat shows everything at once.
//
// # For generated code
//
// [Binder], [Binding], [ValueCell], [ListCell], [MapCell], [NewTimer], the codecs
// [ValueCodec] and [KeyCodec], [AddTable] and [UseRow] are there for generated
// code; nobody needs to call them by hand.
package tws
