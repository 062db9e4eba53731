package in

import tws "github.com/tws-go/tws/runtime"

type T struct {
	tws.Processor[int64, In, Out] `tws:"t"`
}

//tws:table
var Outs tws.StreamingTable[Out]

// Bound is bound by hand and none of our business.
type Bound struct {
	tws.Processor[int64, In, Out]
}

func (b *Bound) BindTWS(*tws.Binder) tws.Binding[int64, In, Out] { panic("by hand") }
