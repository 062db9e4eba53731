// Package twstest tests flows and processors: typed rows in, typed rows out, a
// clock that the test moves, and golden files.
//
//	func TestSilence(t *testing.T) {
//		twstest.Run(t, SilentSensors,
//			twstest.Rows(Reading{SensorID: 1}, Reading{SensorID: 2}),
//			twstest.Advance(3*time.Minute),
//			twstest.Rows(Reading{SensorID: 2}),
//			twstest.Advance(3*time.Minute),
//		).Golden("testdata/alerts.jsonl")
//	}
//
// The flow runs on the engine itself, with its checkpoint in a temporary folder
// and state in memory. Each step runs epochs until nothing is left to do: rows
// are read, due timers fire. ReadStream takes the test's rows in place of the
// source, by row type, or by source name and row type; no source of the flow is
// opened. Steps about the run as a whole ([Conf], [At], [Tables]) come first.
//
// Rows are compared in the order of epoch, key and emission, where keys sort as their
// values do: texts byte by byte, numbers from the smallest.
//
// Golden files are re-recorded by the flag -update, which this package defines
// for the test binary that imports it. Name that package alone: other test
// binaries do not know the flag.
//
//	go test . -run TestSilence -update
package twstest
