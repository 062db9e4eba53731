// Package golden_test holds the visible contract of the generator against files
// that are reviewed like source: what it refuses and in which words, and what it
// generates. Run with -update to re-record them, and read the diff.
package golden_test

import "flag"

var update = flag.Bool("update", false, "re-record golden files")
