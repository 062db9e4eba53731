package in

import tws "github.com/tws-go/tws/runtime"

//tws:table
var Outs tws.StreamingTable[Out]
