//go:build (linux || darwin) && !never

// Package constrained is for some platforms only.
package constrained

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

// Row is a row.
type Row struct {
	Path string `json:"path"`
}

// Seen counts.
type Seen struct {
	tws.Processor[string, Row, Row]

	Times tws.ValueState[uint32]
}

// HandleInputRows counts.
func (s *Seen) HandleInputRows(_ *tws.InputContext, _ string, rows iter.Seq[Row], _ tws.Emitter[Row]) error {
	n, _, err := s.Times.Get()
	if err != nil {
		return err
	}
	for range rows {
		n++
	}
	return s.Times.Update(n)
}
