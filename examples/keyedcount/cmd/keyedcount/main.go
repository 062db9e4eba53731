// Command keyedcount runs the pipeline of package keyedcount.
package main

import (
	"github.com/tws-go/tws/examples/keyedcount"
	"github.com/tws-go/tws/runtime/app"
)

func main() {
	app.Main(keyedcount.Register)
}
