// Package dialogue pins what state, timers and epochs do, as dialogues: files of
// commands and the answers to them, in testdata.
//
// The commands are rows of a flow. The processor [Script] carries each of them
// out against its states and timers and emits what it finds, so every rule of
// docs/reference/semantics.md can be shown by a few lines that anybody can read:
//
//	batch
//	a: list append x y
//	a: list all
//	----
//	epoch 1 at 0s
//	a: list all = x y
//
// A line of a batch is a key and a command: the name of a state or timer, what
// to do with it, arguments. An answer is the command and its result; commands
// that only write have none. Instants are durations since 1970, so the clock,
// which starts there, reads like a stopwatch. The tests run every dialogue on
// each state store, with one state partition and with three, and with restarts
// between epochs and without; the answers must be the same each time. The same
// holds for random commands, whose answers a model in plain Go gives.
//
//	go test ./golden/dialogue -update    # re-record the answers
package dialogue
