// Package model is another one of that name.
package model

import "time"

// Reading is a row without generated code of its own.
type Reading struct {
	At time.Time
}

// Place is a key.
type Place struct {
	Floor int
	Room  string
}
