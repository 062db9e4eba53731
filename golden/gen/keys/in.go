// Package keys has keys of every supported type.
package keys

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

// Defined types over those that keys may have.
type (
	// Name is a string of its own.
	Name string
	// Code is a number of its own.
	Code int16
	// Open is a bool of its own.
	Open bool
)

// Site is a key of several parts, one of them a key itself.
type Site struct {
	Name  Name
	Floor int8
	Room  Room
	Since time.Time
}

// Room is part of a key.
type Room struct {
	Code Code
	Open Open
	For  time.Duration
}

// Row is a row.
type Row struct {
	Site Site `json:"site"`
}

// Keys has a map for each key type.
type Keys struct {
	tws.Processor[Site, Row, Row] `tws:"keys"`

	Bool     tws.MapState[bool, int64]
	Int      tws.MapState[int, int64]
	Int8     tws.MapState[int8, int64]
	Int16    tws.MapState[int16, int64]
	Int32    tws.MapState[int32, int64]
	Int64    tws.MapState[int64, int64]
	Uint     tws.MapState[uint, int64]
	Uint8    tws.MapState[uint8, int64]
	Uint16   tws.MapState[uint16, int64]
	Uint32   tws.MapState[uint32, int64]
	Uint64   tws.MapState[uint64, int64]
	String   tws.MapState[string, int64]
	Time     tws.MapState[time.Time, int64]
	Duration tws.MapState[time.Duration, int64]
	Name     tws.MapState[Name, int64]
	Code     tws.MapState[Code, int64]
	Open     tws.MapState[Open, int64]
	Room     tws.MapState[Room, Site]
	Sites    tws.MapState[Site, []Room]
}

// HandleInputRows does nothing.
func (k *Keys) HandleInputRows(*tws.InputContext, Site, iter.Seq[Row], tws.Emitter[Row]) error {
	return nil
}
