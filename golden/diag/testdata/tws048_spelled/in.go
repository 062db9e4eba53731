// Package in: a type whose text is longer than it looks.
package in

import tws "github.com/tws-go/tws/runtime"

//tws:table
var Rows tws.StreamingTable[D9]

type Pair[A, B any] struct {
	First  A
	Second B
}

// D9 is spelled with 1023 types.
type (
	D1 = Pair[int64, int64]
	D2 = Pair[D1, D1]
	D3 = Pair[D2, D2]
	D4 = Pair[D3, D3]
	D5 = Pair[D4, D4]
	D6 = Pair[D5, D5]
	D7 = Pair[D6, D6]
	D8 = Pair[D7, D7]
	D9 = Pair[D8, D8]
)
