// Package model holds types of somebody else.
package model

// Reading is a row without generated code of its own.
type Reading struct {
	ID    int64
	Level Level
	Where *Place
}

// Level is a number of its own.
type Level uint16

// Place is nested.
type Place struct {
	Name  string
	Alias []string
}
