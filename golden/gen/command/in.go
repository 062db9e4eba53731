// Command command is a pipeline in package main.
package main

import (
	"fmt"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/file"
)

// Line is a row.
type Line struct {
	Text string `json:"text"`
}

// Lines keeps every line.
//
//tws:table
func Lines(f *tws.Flow) tws.Stream[Line] {
	return tws.ReadStream(f, file.JSON[Line]{Path: "lines"})
}

func main() {
	p := tws.NewPipeline(tws.Options{})
	Register(p)
	fmt.Println("registered")
}
