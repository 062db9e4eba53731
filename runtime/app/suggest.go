package app

import "github.com/tws-go/tws/runtime/internal/spelling"

// didYouMean returns a question that names the known word closest to word, with
// what joins it to the sentence before; "" if none is close.
func didYouMean(word string, known []string) string {
	if near := spelling.Nearest(word, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}
