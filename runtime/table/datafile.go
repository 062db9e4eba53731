package table

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/zeebo/xxh3"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// fileLimits bounds data files. What a limit cuts depends on the rows alone, so
// equal rows make equal files.
type fileLimits struct {
	// fileBytes is the size from which on a file gets no further row group.
	fileBytes int64
	// groupRows and groupBytes bound a row group: its rows, and the size of its
	// values before encoding and compression.
	groupRows, groupBytes int64
}

func defaultLimits() fileLimits {
	return fileLimits{fileBytes: 128 << 20, groupRows: 1 << 20, groupBytes: 64 << 20}
}

// stagedFile is a data file that Publish adds to the table, as it stands in
// [stream.Staged]'s State.
type stagedFile struct {
	// Path is relative to the table's folder, with slashes.
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	Rows  int64  `json:"rows"`
	Stats string `json:"stats"`
	// ModifiedMillis is when the file was written, for the add action.
	ModifiedMillis int64 `json:"modified_ms"`
	// Sum is the file's checksum, as in its artefact.
	Sum string `json:"sum"`
}

func (f stagedFile) artefact() stream.Artefact {
	return stream.Artefact{Path: f.Path, Size: f.Size, Sum: f.Sum}
}

// fileSet writes rows to as many data files as the limits ask for.
type fileSet struct {
	dir    string
	name   func(n int) string // the name of the nth file, from 0
	row    *column
	schema *parquet.Schema
	limits fileLimits
	noSync bool

	files []stagedFile
	open  *dataFile
}

// writeLanes writes the rows of all lanes, in order of lanes. On failure it
// leaves no file behind.
func (s *fileSet) writeLanes(ctx context.Context, lanes []*lane) ([]stagedFile, error) {
	err := s.write(ctx, lanes)
	if err == nil && s.open != nil {
		err = s.finish()
	}
	if err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s.files, nil
}

func (s *fileSet) write(ctx context.Context, lanes []*lane) error {
	for _, l := range lanes {
		cursors := make([]cursor, len(l.buffers))
		for i := range l.buffers {
			cursors[i].b = &l.buffers[i]
		}
		for done := int64(0); done < l.rows; {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows := min(l.rows-done, chunkRows)
			if err := s.writeChunk(cursors, int(rows)); err != nil {
				return err
			}
			done += rows
		}
	}
	return nil
}

// chunkRows is how many rows are handed to parquet-go at a time.
const chunkRows = 1 << 10

// writeChunk writes the next rows at the cursors.
func (s *fileSet) writeChunk(cursors []cursor, rows int) error {
	if s.open == nil {
		f, err := s.create()
		if err != nil {
			return err
		}
		s.open = f
	}
	if err := s.open.append(cursors, rows); err != nil {
		return err
	}
	if s.open.groupRows < s.limits.groupRows && s.open.groupBytes < s.limits.groupBytes {
		return nil
	}
	if err := s.open.endGroup(); err != nil {
		return err
	}
	if s.open.size >= s.limits.fileBytes {
		return s.finish()
	}
	return nil
}

func (s *fileSet) create() (*dataFile, error) {
	name := s.name(len(s.files))
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	d := &dataFile{name: name, file: f, sum: xxh3.New(), stats: newStats(s.row)}
	d.buffered = bufio.NewWriterSize(io.MultiWriter(f, d.sum), 64<<10)
	d.parquet = parquet.NewGenericWriter[any](d,
		s.schema,
		parquet.Compression(&snappy.Codec{}),
		parquet.CreatedBy("tws", "1", "table"),
		// Every reader knows pages of the first version.
		parquet.DataPageVersion(1),
		parquet.WriteBufferSize(0),
		parquet.DictionaryMaxBytes(1<<20),
	)
	return d, nil
}

// finish makes the open file whole and durable.
func (s *fileSet) finish() error {
	d := s.open
	if err := d.close(s.noSync); err != nil {
		return fmt.Errorf("write %s: %w", d.name, err)
	}
	s.open = nil
	stats, err := statsText(d.rows, d.stats)
	s.files = append(s.files, stagedFile{
		Path: d.name, Size: d.size, Rows: d.rows, Stats: stats,
		Sum: sumText(d.sum),
	})
	return err
}

func sumText(h *xxh3.Hasher) string { return fmt.Sprintf("xxh3:%016x", h.Sum64()) }

// discard removes what was written.
func (s *fileSet) discard() error {
	var errs []error
	if s.open != nil {
		_ = s.open.file.Close() // the file goes
		errs = append(errs, os.Remove(s.open.file.Name()))
	}
	for _, f := range s.files {
		errs = append(errs, os.Remove(filepath.Join(s.dir, f.Path)))
	}
	s.open, s.files = nil, nil
	return errors.Join(errs...)
}

// dataFile is a Parquet file that is being written. The checksum is taken on the
// way to the disk.
type dataFile struct {
	name     string
	file     *os.File
	sum      *xxh3.Hasher
	buffered *bufio.Writer
	parquet  *parquet.GenericWriter[any]
	stats    []*columnStats
	values   []parquet.Value

	size                        int64 // bytes written
	rows, groupRows, groupBytes int64
}

// Write takes the file's bytes from parquet-go.
func (d *dataFile) Write(p []byte) (int, error) {
	n, err := d.buffered.Write(p)
	d.size += int64(n)
	return n, err
}

// append adds the next rows at the cursors to the open row group.
func (d *dataFile) append(cursors []cursor, rows int) error {
	for i, w := range d.parquet.ColumnWriters() {
		values, size := cursors[i].take(d.values[:0], rows, d.stats[i])
		n, err := w.WriteRowValues(values)
		if err != nil {
			return fmt.Errorf("write %s: column %s: %w", d.name, cursors[i].b.col.path, err)
		}
		if n != rows {
			return fmt.Errorf("write %s: column %s took %d rows of %d", d.name, cursors[i].b.col.path, n, rows)
		}
		d.groupBytes += size
		d.values = values
	}
	d.rows += int64(rows)
	d.groupRows += int64(rows)
	return nil
}

func (d *dataFile) endGroup() error {
	d.groupRows, d.groupBytes = 0, 0
	if err := d.parquet.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", d.name, err)
	}
	return nil
}

func (d *dataFile) close(noSync bool) error {
	if err := d.parquet.Close(); err != nil {
		return err
	}
	if err := d.buffered.Flush(); err != nil {
		return err
	}
	if !noSync {
		if err := d.file.Sync(); err != nil {
			return err
		}
	}
	return d.file.Close()
}

// parquetValue returns the Parquet form of a value of fixed size.
func parquetValue(k schemas.Kind, bits uint64) parquet.Value {
	switch k {
	case schemas.Bool:
		return parquet.BooleanValue(bits != 0)
	case schemas.Int8, schemas.Int16, schemas.Int32, schemas.Uint8, schemas.Uint16:
		return parquet.Int32Value(int32(bits))
	case schemas.Uint64:
		var decimal [decimalBytes]byte
		binary.BigEndian.PutUint64(decimal[decimalBytes-8:], bits)
		return parquet.FixedLenByteArrayValue(decimal[:])
	case schemas.Float32:
		return parquet.FloatValue(float32(math.Float64frombits(bits)))
	case schemas.Float64:
		return parquet.DoubleValue(math.Float64frombits(bits))
	}
	return parquet.Int64Value(int64(bits))
}

// decimalBytes is the fewest bytes that hold a decimal of 20 digits and a sign.
const decimalBytes = 9

// parquetSchema returns the schema of the table's data files.
func parquetSchema(row *column) *parquet.Schema {
	return parquet.NewSchema("row", row.parquetGroup())
}

// parquetNode returns the column as a node of a Parquet schema.
func (c *column) parquetNode() parquet.Node {
	var n parquet.Node
	switch c.kind {
	case schemas.List:
		list := parquet.List(parquet.Leaf(parquet.BooleanType)) // for its type only
		repeated := parquet.Repeated(newGroup(nil, field{c.children[0].parquetNode(), elementName}))
		n = newGroup(list, field{repeated, "list"})
	case schemas.Struct:
		n = c.parquetGroup()
	default:
		n = parquetLeaf(c.kind)
	}
	if c.nullable {
		return parquet.Optional(n)
	}
	return parquet.Required(n)
}

func (c *column) parquetGroup() parquet.Node {
	fields := make([]parquet.Field, len(c.children))
	for i, child := range c.children {
		fields[i] = field{child.parquetNode(), child.name}
	}
	return newGroup(nil, fields...)
}

func parquetLeaf(k schemas.Kind) parquet.Node {
	switch k {
	case schemas.Bool:
		return parquet.Leaf(parquet.BooleanType)
	case schemas.Int8:
		return parquet.Int(8)
	case schemas.Int16, schemas.Uint8:
		return parquet.Int(16)
	case schemas.Int32, schemas.Uint16:
		return parquet.Int(32)
	case schemas.Uint64:
		return parquet.Decimal(0, 20, parquet.FixedLenByteArrayType(decimalBytes))
	case schemas.Float32:
		return parquet.Leaf(parquet.FloatType)
	case schemas.Float64:
		return parquet.Leaf(parquet.DoubleType)
	case schemas.String:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case schemas.Bytes:
		return parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.Plain)
	case schemas.Timestamp:
		return parquet.Timestamp(parquet.Microsecond)
	}
	return parquet.Int(64)
}

// group is a Parquet group that keeps its fields in the order of declaration;
// parquet-go's own sorts them by name.
type group struct {
	parquet.Node
	fields []parquet.Field
}

// newGroup returns a group with the type of the node like, or a plain one.
func newGroup(like parquet.Node, fields ...parquet.Field) group {
	if like == nil {
		like = parquet.Group{}
	}
	return group{like, fields}
}

func (g group) Fields() []parquet.Field { return g.fields }

// GoType is there for the interface. Rows are never Go values here.
func (g group) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

// Value is there for the interface. Rows are never Go values here.
func (f field) Value(reflect.Value) reflect.Value { return reflect.Value{} }
