// Package spelling finds the word that a misspelt one was meant to be, for
// messages about what a person wrote: a command, a flag, a table, a key of the
// configuration.
//
// Words are near by the number of letters to insert, remove or replace. The more
// letters a word has, the more of them may be wrong: one of two letters, two of
// three to five, three of six to eight. Two neighbours that changed places are two
// wrong letters, so one such slip is forgiven from three letters on.
//
// The generator has the same rule in gen/internal/diag: neither may import the other, and no package is for both.
package spelling

import (
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known word that word is most likely a slip of, the first of
// those that are equally near; "" if none is near.
func Nearest(word string, known []string) string {
	letters := utf8.RuneCountInString(word)
	best, distance := "", min(letters, letters/3+2)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}
