package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"
)

// ReadRows calls each with every row of the table in the folder dir, as a JSON
// object with all columns in the table's order: files in the order of the log,
// rows in the order of the file. It reads the version that is newest when it
// begins. row is valid only during the call. An error of each ends the reading.
//
// Instants are RFC 3339 in UTC, durations numbers of nanoseconds, byte slices
// base64, and NaN and the infinities strings. Columns of types that this
// package does not write are refused.
func ReadRows(ctx context.Context, dir string, each func(row []byte) error) error {
	s, err := openForReading(dir)
	if err != nil {
		return fmt.Errorf("table: read %s: %w", dir, err)
	}
	if err := checkTypes(s.row); err != nil {
		return fmt.Errorf("table: read %s: %w", dir, err)
	}
	for _, f := range s.content() {
		if err := readFile(ctx, dir, f.addAction, s.row, each); err != nil {
			return fmt.Errorf("table: read %s: %w", filepath.Join(dir, f.Path), err)
		}
	}
	return nil
}

func openForReading(dir string) (*logState, error) {
	s, err := openLog(dir, true)
	if err != nil {
		return nil, err
	}
	return s, checkReadable(s.protocol, s.meta)
}

// checkTypes refuses columns of types that cannot be read.
func checkTypes(c *column) error {
	if c.kind == "" {
		return fmt.Errorf("column %s has the type %s, which this build does not read", c.path, c.foreign)
	}
	for _, child := range c.children {
		if err := checkTypes(child); err != nil {
			return err
		}
	}
	return nil
}

// readFile calls each with the rows of one data file.
func readFile(ctx context.Context, dir string, add addAction, row *column, each func([]byte) error) error {
	f, err := openData(dir, add)
	if err != nil {
		return err
	}
	defer func() { _ = f.close() }() // it was only read
	var bound *storedColumn
	err = guard(func() (err error) {
		bound, err = bindRow(row, f.parquet.Root())
		return err
	})
	if err != nil {
		return err
	}
	r := &rowCursor{values: make([][]parquet.Value, bound.leaves), at: make([]int, bound.leaves)}
	var text []byte
	for _, group := range f.parquet.RowGroups() {
		err := eachRow(ctx, group, 0, group.NumRows(), func(row parquet.Row) error {
			err := guard(func() (err error) {
				r.start(row)
				text, err = bound.appendJSON(text[:0], r, 0)
				return err
			})
			if err != nil {
				return err
			}
			return each(text)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls f with the rows [from, to) of a row group.
func eachRow(ctx context.Context, group parquet.RowGroup, from, to int64, f func(parquet.Row) error) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	if from > 0 {
		if err := guard(func() error { return rows.SeekToRow(from) }); err != nil {
			return err
		}
	}
	buffer := make([]parquet.Row, 64)
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var n int
		err := guard(func() (err error) {
			n, err = rows.ReadRows(buffer[:min(to-at, int64(len(buffer)))])
			return err
		})
		for _, row := range buffer[:n] {
			if err := f(row); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case at == to:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the file ends after %d of %d rows", at, group.NumRows())
		case err != nil:
			return err
		}
	}
	return nil
}

// guard turns a panic into an error: on damaged files parquet-go may panic.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the file is damaged: %v", r)
		}
	}()
	return f()
}

// openedData is a data file that is open for reading.
type openedData struct {
	file    *os.File
	parquet *parquet.File
}

func (d *openedData) close() error { return d.file.Close() }

// openData opens a file of the table's content and checks it against the log.
func openData(dir string, add addAction) (*openedData, error) {
	if v := add.DeletionVector; v != nil && string(v) != "null" {
		return nil, errors.New("the log names a deletion vector for the file, which is not supported")
	}
	path, err := localPath(add.Path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return nil, fmt.Errorf("the log names the file: %w", err)
	}
	d := &openedData{file: file}
	if err := d.check(add); err != nil {
		_ = file.Close() // err is what the caller must know
		return nil, err
	}
	return d, nil
}

func (d *openedData) check(add addAction) error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != add.Size {
		return fmt.Errorf("the file has %d bytes, and the log says %d", info.Size(), add.Size)
	}
	if err := d.checkSum(add); err != nil {
		return err
	}
	err = guard(func() (err error) {
		d.parquet, err = parquet.OpenFile(d.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	if err != nil {
		return fmt.Errorf("the file is damaged: %w", err)
	}
	if rows, ok := add.records(); ok && rows != d.parquet.NumRows() {
		return fmt.Errorf("the file has %d rows, and the log says %d", d.parquet.NumRows(), rows)
	}
	return nil
}

// checkSum compares the whole file with the checksum in the log, if there is one.
func (d *openedData) checkSum(add addAction) error {
	want, ok := add.Tags[sumTag]
	if !ok {
		return nil // a file of another writer
	}
	h := xxh3.New()
	if _, err := io.Copy(h, d.file); err != nil {
		return err
	}
	if got := sumText(h); got != want {
		return fmt.Errorf("the file is damaged: its checksum is %s, and the log says %s: restore it from a copy of the table", got, want)
	}
	return nil
}

// records returns the number of rows that the log gives for a file.
func (a addAction) records() (int64, bool) {
	var stats struct {
		NumRecords *int64 `json:"numRecords"`
	}
	if json.Unmarshal([]byte(a.Stats), &stats) != nil || stats.NumRecords == nil {
		return 0, false
	}
	return *stats.NumRecords, true
}

// Info is a table at a glance.
type Info struct {
	// Version is the newest version of the log.
	Version int64
	// Comment is the table's description.
	Comment string
	// Columns are the table's columns in order.
	Columns []Column
	// Files, Rows and Bytes are the table's content.
	Files       int
	Rows, Bytes int64
	// Txns has, for each application that writes to the table exactly once,
	// the version it gave last: for a commit unit the epoch published last. The
	// application of the unit UID/flow/0 is "tws/UID/flow/0".
	Txns map[string]int64
}

// Column is a column of a table.
type Column struct {
	Name string
	// Type is the Delta type, such as "array<struct<a:long>>".
	Type string
}

// Describe returns what the log of the table in the folder dir says.
func Describe(dir string) (Info, error) {
	s, err := openForReading(dir)
	if err != nil {
		return Info{}, fmt.Errorf("table: describe %s: %w", dir, err)
	}
	info := Info{Version: s.version, Comment: s.meta.Description, Txns: map[string]int64{}}
	for _, c := range s.row.children {
		info.Columns = append(info.Columns, Column{Name: c.name, Type: c.typeText()})
	}
	for id, t := range s.txns {
		info.Txns[id] = t.version
	}
	for _, f := range s.content() {
		rows, err := countRows(dir, f.addAction)
		if err != nil {
			return Info{}, fmt.Errorf("table: describe %s: %w", filepath.Join(dir, f.Path), err)
		}
		info.Files++
		info.Rows += rows
		info.Bytes += f.Size
	}
	return info, nil
}

// countRows returns the number of rows of a file: the log's, or else its own.
func countRows(dir string, add addAction) (int64, error) {
	if rows, ok := add.records(); ok {
		return rows, nil
	}
	f, err := openData(dir, add)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.close() }() // it was only read
	return f.parquet.NumRows(), nil
}
