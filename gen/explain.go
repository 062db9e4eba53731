package gen

import "github.com/tws-go/tws/gen/internal/diag"

// Entry explains a diagnostic code.
type Entry = diag.Entry

// Catalogue returns an entry for every code, in order.
func Catalogue() []Entry { return diag.Catalogue() }

// Diagnostic is a fault in an annotated package, Diagnostics are many.
type (
	Diagnostic  = diag.Diagnostic
	Diagnostics = diag.List
)

// Nearest returns the candidate that word is most likely a slip of, "" if none is
// near.
func Nearest(word string, candidates []string) string { return diag.Nearest(word, candidates) }

// Explain returns the entry of a code such as "TWS012"; case does not matter.
func Explain(code string) (Entry, bool) { return diag.Explain(code) }
