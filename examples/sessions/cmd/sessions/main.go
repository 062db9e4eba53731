// Command sessions runs the pipeline of package sessions.
//
// tws-gen wrote this file once; it is yours to change.
package main

import (
	"github.com/tws-go/tws/examples/sessions"
	"github.com/tws-go/tws/runtime/app"
)

func main() {
	app.Main(sessions.Register)
}
