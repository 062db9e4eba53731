package stream

import (
	"context"
	"time"
)

// TableReader reads a streaming table as a source: the rows that are appended to
// it, in the order of its log. Its methods keep the contract of [Reader], but
// rows come column by column.
type TableReader interface {
	Discover(ctx context.Context, from Position, final bool) (end Position, journal []byte, err error)
	Cut(ctx context.Context, from, end Position, limits Limits) (Position, error)
	// Read calls each with every row; each takes the row's columns and ends it.
	Read(ctx context.Context, from, to Position, each func(RowReader) error) (ReadStats, error)
	Close() error
}

// RowReader hands out a row of a table column by column.
type RowReader interface {
	ColumnReader
	// EndRow ends the row and returns the first error its columns met.
	EndRow() error
	// Place says where the row stands.
	Place() RowPlace
}

// RowPlace is where a row of a table stands, and since when; see [Record].
type RowPlace struct {
	// Partition is the version of the table that added the row.
	Partition int32
	// Offset rises with the rows of a version.
	Offset int64
	// Time is when the row's file was written.
	Time time.Time
}
