// Package in: a row that spells twice as many types at each level.
package in

import tws "github.com/tws-go/tws/runtime"

type Row[X any] struct {
	More *Row[Pair[X, X]]
}

type Pair[A, B any] struct {
	First  A
	Second B
}

//tws:table
var Rows tws.StreamingTable[Row[int]]
