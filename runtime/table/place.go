package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tws-go/tws/runtime/stream"
)

// place is a place in the stream of a table's rows: in front of a row of a file
// that a version adds. A place behind the last row of a file is that in front of
// the next file, and behind the last file of a version that in front of the next
// version, so that equal places have equal positions.
type place struct {
	// Table is the id that the table's metadata gives it.
	Table string `json:"table"`
	// Snapshot is the version whose whole content the stream began with, as a log
	// checkpoint has it; nil if it began with version 0.
	Snapshot *int64 `json:"snapshot,omitempty"`
	// Version is the version whose files come next; that of the snapshot means
	// the snapshot's.
	Version int64 `json:"version"`
	// File is the number of the file within its version, Row that of the row
	// within its file; both start at 0.
	File int   `json:"file,omitempty"`
	Row  int64 `json:"row,omitempty"`
}

// parsePlace reads a position that this package wrote, and nothing else.
func parsePlace(p stream.Position) (place, error) {
	var at place
	dec := json.NewDecoder(bytes.NewReader(p))
	dec.DisallowUnknownFields()
	err := dec.Decode(&at)
	first := int64(0)
	if at.Snapshot != nil {
		first = *at.Snapshot
	}
	if err == nil && (at.Table == "" || first < 0 || at.Version < first || at.File < 0 || at.Row < 0) {
		err = fmt.Errorf("it names no place")
	}
	if err == nil && !at.position().Equal(p) {
		err = fmt.Errorf("it is not in the form in which positions are written")
	}
	if err != nil {
		return place{}, fmt.Errorf("position %s is not a table's: %w", excerpt(string(p)), err)
	}
	return at, nil
}

func (at place) position() stream.Position {
	text, err := json.Marshal(at)
	if err != nil {
		panic(err) // numbers and text are always JSON
	}
	return text
}

// start returns the place in front of the stream's first row.
func (at place) start() place {
	first := int64(0)
	if at.Snapshot != nil {
		first = *at.Snapshot
	}
	return place{Table: at.Table, Snapshot: at.Snapshot, Version: first}
}

// nextVersion returns the place in front of the next version.
func (at place) nextVersion() place {
	at.Version, at.File, at.Row = at.Version+1, 0, 0
	return at
}

// inSnapshot reports whether the files that come next are the snapshot's.
func (at place) inSnapshot() bool { return at.Snapshot != nil && *at.Snapshot == at.Version }

// before reports whether at comes before other in the same stream.
func (at place) before(other place) bool {
	if at.Version != other.Version {
		return at.Version < other.Version
	}
	if at.File != other.File {
		return at.File < other.File
	}
	return at.Row < other.Row
}

// sameStream fails for places of two tables, or of streams that began elsewhere.
func (at place) sameStream(other place) error {
	if at.Table != other.Table {
		return fmt.Errorf("position %s is of another table than %s", at.position(), other.position())
	}
	if at.start().Version != other.start().Version || (at.Snapshot == nil) != (other.Snapshot == nil) {
		return fmt.Errorf("position %s is of a stream that began elsewhere than that of %s", at.position(), other.position())
	}
	return nil
}

// version names a version, or the snapshot of it, for messages.
func (at place) version() string {
	v := strconv.FormatInt(at.Version, 10)
	if at.inSnapshot() {
		return "the log checkpoint of version " + v
	}
	return "version " + v
}
