// Package shapes uses every supported kind of field, in state and in a row.
package shapes

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

// Scalars has a field of every scalar kind.
type Scalars struct {
	Bool   bool          `json:"bool"`
	Int    int           `json:"int"`
	Int8   int8          `json:"int8"`
	Int16  int16         `json:"int16"`
	Int32  int32         `json:"int32"`
	Int64  int64         `json:"int64"`
	Uint   uint          `json:"uint"`
	Uint8  uint8         `json:"uint8"`
	Uint16 uint16        `json:"uint16"`
	Uint32 uint32        `json:"uint32"`
	Uint64 uint64        `json:"uint64"`
	F32    float32       `json:"f32"`
	F64    float64       `json:"f64"`
	Text   string        `json:"text"`
	Raw    []byte        `json:"raw"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Rune   rune          `json:"rune"`
}

// Optional has a pointer to every scalar kind but bytes.
type Optional struct {
	Bool  *bool          `json:"bool"`
	Int   *int           `json:"int"`
	Small *uint8         `json:"small"`
	F32   *float32       `json:"f32"`
	Text  *string        `json:"text"`
	At    *time.Time     `json:"at"`
	Took  *time.Duration `json:"took"`
	Point *Point         `json:"point"`
	Tree  *Lists         `json:"tree"`
}

// Point is flat.
type Point struct {
	X, Y float64
}

// Lists nests lists of all sorts.
type Lists struct {
	Texts  []string    `json:"texts"`
	Blobs  [][]byte    `json:"blobs"`
	Cube   [][][]int32 `json:"cube"`
	Points []Point     `json:"points"`
	Holes  []*Point    `json:"holes"`
	Counts []*int64    `json:"counts"`
	Times  []time.Time `json:"times"`
	Deep   [][]Scalars `json:"deep"`
	Sparse [][]*Sparse `json:"sparse"`
}

// Sparse leaves out what is zero.
type Sparse struct {
	Flag  bool          `json:"flag,omitempty"`
	Count int64         `json:"count,omitempty"`
	Ratio float32       `json:"ratio,omitempty"`
	Name  string        `json:"name,omitempty"`
	Raw   []byte        `json:"raw,omitempty"`
	Tags  []string      `json:"tags,omitempty"`
	At    time.Time     `json:"at,omitzero"`
	Took  time.Duration `json:"took,omitempty"`
	Point Point         `json:"point,omitzero"`
	Mixed Mixed         `json:"mixed,omitempty"`
	Listy Listy         `json:"listy,omitempty"`
	Note  *string       `json:"note"`
}

// Mixed begins with a field that may be left out.
type Mixed struct {
	Before *int64  `json:"before"`
	Here   int64   `json:"100%"`
	After  *string `json:"after"`
	There  bool    `json:"back tick"`
}

// Listy cannot be compared.
type Listy struct {
	List []int64 `json:"list"`
}

// Empty has nothing.
type Empty struct{}

// Everything is a row of all of it.
type Everything struct {
	Scalars Scalars
	Option  Optional
	Lists   Lists
	Sparse  Sparse
	Mixed   Mixed
	Empty   Empty
}

// Shapes keeps all of it.
type Shapes struct {
	tws.Processor[string, Everything, Sparse] `tws:"shapes,time=none"`

	Everything tws.ValueState[Everything]
	Numbers    tws.ListState[[]int64]
	Maybe      tws.ValueState[*Point]
	Tree       tws.ValueState[*Lists]
	Matrix     tws.MapState[int8, [][]*string]
	Blob       tws.ValueState[[]byte]
	Nothing    tws.ListState[Empty]
	Ratio      tws.ValueState[float32]
	When       tws.MapState[time.Time, time.Duration]
}

// HandleInputRows keeps the last row.
func (s *Shapes) HandleInputRows(_ *tws.InputContext, _ string, rows iter.Seq[Everything], out tws.Emitter[Sparse]) error {
	for row := range rows {
		if err := s.Everything.Update(row); err != nil {
			return err
		}
		if err := out.Emit(row.Sparse); err != nil {
			return err
		}
	}
	return nil
}
