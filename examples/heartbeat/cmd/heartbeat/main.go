// Command heartbeat runs the pipeline of package heartbeat.
//
// tws-gen wrote this file once; it is yours to change.
package main

import (
	"github.com/tws-go/tws/examples/heartbeat"
	"github.com/tws-go/tws/runtime/app"
)

func main() {
	app.Main(heartbeat.RegisterAll)
}
