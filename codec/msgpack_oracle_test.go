package codec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// sample is a row as generated code would read and write it.
type sample struct {
	//lint:ignore U1000 the reference reads the tag
	_msgpack struct{} `msgpack:",as_array"`

	Flag    bool
	I8      int8
	I16     int16
	I32     int32
	I64     int64
	U8      uint8
	U16     uint16
	U32     uint32
	U64     uint64
	F32     float32
	F64     float64
	Text    string
	Data    []byte
	At      time.Time
	Took    time.Duration
	Names   []string
	Missing *int64
}

func (s *sample) append(dst []byte) []byte {
	dst = AppendArrayHeader(dst, 17)
	dst = AppendBool(dst, s.Flag)
	dst = AppendInt(dst, int64(s.I8))
	dst = AppendInt(dst, int64(s.I16))
	dst = AppendInt(dst, int64(s.I32))
	dst = AppendInt(dst, s.I64)
	dst = AppendUint(dst, uint64(s.U8))
	dst = AppendUint(dst, uint64(s.U16))
	dst = AppendUint(dst, uint64(s.U32))
	dst = AppendUint(dst, s.U64)
	dst = AppendFloat32(dst, s.F32)
	dst = AppendFloat64(dst, s.F64)
	dst = AppendString(dst, s.Text)
	dst = AppendBytes(dst, s.Data)
	dst = AppendTime(dst, s.At)
	dst = AppendDuration(dst, s.Took)
	if s.Names == nil {
		dst = AppendNil(dst)
	} else {
		dst = AppendArrayHeader(dst, len(s.Names))
		for _, name := range s.Names {
			dst = AppendString(dst, name)
		}
	}
	if s.Missing == nil {
		return AppendNil(dst)
	}
	return AppendInt(dst, *s.Missing)
}

func (s *sample) read(r *Reader) {
	r.Struct(17)
	s.Flag = r.Bool()
	s.I8, s.I16, s.I32, s.I64 = r.Int8(), r.Int16(), r.Int32(), r.Int64()
	s.U8, s.U16, s.U32, s.U64 = r.Uint8(), r.Uint16(), r.Uint32(), r.Uint64()
	s.F32, s.F64 = r.Float32(), r.Float64()
	s.Text, s.Data = r.String(), r.Bytes()
	s.At, s.Took = r.Time(), r.Duration()
	s.Names = listOfStrings(r)
	if !r.Nil() {
		v := r.Int64()
		s.Missing = &v
	}
	r.EndStruct()
}

func (s *sample) equal(o *sample) bool {
	same := s.Flag == o.Flag && s.I8 == o.I8 && s.I16 == o.I16 && s.I32 == o.I32 && s.I64 == o.I64 &&
		s.U8 == o.U8 && s.U16 == o.U16 && s.U32 == o.U32 && s.U64 == o.U64 &&
		math.Float32bits(s.F32) == math.Float32bits(o.F32) && math.Float64bits(s.F64) == math.Float64bits(o.F64) &&
		s.Text == o.Text && bytes.Equal(s.Data, o.Data) && (s.Data == nil) == (o.Data == nil) &&
		s.At.Equal(o.At) && s.Took == o.Took &&
		len(s.Names) == len(o.Names) && (s.Names == nil) == (o.Names == nil) &&
		(s.Missing == nil) == (o.Missing == nil)
	for i := range s.Names {
		same = same && s.Names[i] == o.Names[i]
	}
	return same && (s.Missing == nil || *s.Missing == *o.Missing)
}

// anyInt returns an integer of a random size, often near a power of two.
func anyInt(rng *rand.Rand) uint64 {
	v := rng.Uint64() >> rng.IntN(64)
	switch rng.IntN(4) {
	case 0:
		v = 1<<rng.IntN(64) - uint64(rng.IntN(3)) + 1
	case 1:
		v = -v
	}
	return v
}

func anyText(rng *rand.Rand) string {
	alphabet := []byte{0, 1, 'a', 'b', 0xfe, 0xff, '"', '\\', 0xc3}
	b := make([]byte, []int{0, 1, 3, 31, 32, 300}[rng.IntN(6)])
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

func anySample(rng *rand.Rand) *sample {
	s := &sample{
		Flag: rng.IntN(2) == 0,
		I8:   int8(anyInt(rng)), I16: int16(anyInt(rng)), I32: int32(anyInt(rng)), I64: int64(anyInt(rng)),
		U8: uint8(anyInt(rng)), U16: uint16(anyInt(rng)), U32: uint32(anyInt(rng)), U64: anyInt(rng),
		F32: math.Float32frombits(uint32(anyInt(rng))), F64: math.Float64frombits(anyInt(rng)),
		Text: anyText(rng), At: instants[rng.IntN(len(instants))], Took: time.Duration(anyInt(rng)),
	}
	if s.F32 != s.F32 { // a signalling NaN may become quiet on its way through a register
		s.F32 = float32(math.NaN())
	}
	if rng.IntN(3) > 0 {
		s.Data = []byte(anyText(rng))
		s.Names = make([]string, rng.IntN(20))
		for i := range s.Names {
			s.Names[i] = anyText(rng)
		}
	}
	if rng.IntN(2) == 0 {
		v := int64(anyInt(rng))
		s.Missing = &v
	}
	return s
}

// oracleEncode encodes with the reference library.
func oracleEncode(t testing.TB, v any, compact bool) []byte {
	t.Helper()
	var buf bytes.Buffer
	e := msgpack.NewEncoder(&buf)
	e.UseCompactInts(compact)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func checkSample(t *testing.T, s *sample) {
	ours := s.append(nil)
	var theirs sample
	if err := msgpack.Unmarshal(ours, &theirs); err != nil {
		t.Fatalf("the reference cannot read %x: %v", ours, err)
	}
	if !theirs.equal(s) {
		t.Fatalf("the reference reads\n%+v\nfrom the bytes of\n%+v", theirs, s)
	}
	for _, compact := range []bool{true, false} {
		var back sample
		r := readerOf(oracleEncode(t, s, compact))
		if back.read(r); r.Done() != nil || !back.equal(s) {
			t.Fatalf("compact=%v: got\n%+v, %v\nfrom the reference's bytes of\n%+v", compact, back, r.Done(), s)
		}
		if back.At.Location() != time.UTC {
			t.Fatalf("the instant is in %v", back.At.Location())
		}
	}
}

func TestOracleReadsOursAndWeReadIts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		checkSample(t, anySample(rng))
	}
}

// Scalars have the very bytes of the reference, which are its shortest.
func TestOracleWritesTheSameBytes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		s := anySample(rng)
		v := anyInt(rng)
		for name, pair := range map[string][2][]byte{
			"int":    {AppendInt(nil, int64(v)), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeInt(int64(v)) })},
			"uint":   {AppendUint(nil, v), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeUint(v) })},
			"bool":   {AppendBool(nil, s.Flag), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeBool(s.Flag) })},
			"f32":    {AppendFloat32(nil, s.F32), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeFloat32(s.F32) })},
			"f64":    {AppendFloat64(nil, s.F64), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeFloat64(s.F64) })},
			"string": {AppendString(nil, s.Text), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeString(s.Text) })},
			"bytes":  {AppendBytes(nil, s.Data), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeBytes(s.Data) })},
			"time":   {AppendTime(nil, s.At), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeTime(s.At) })},
			"array":  {AppendArrayHeader(nil, int(v>>33)), oracle(t, func(e *msgpack.Encoder) error { return e.EncodeArrayLen(int(v >> 33)) })},
		} {
			if !bytes.Equal(pair[0], pair[1]) {
				t.Fatalf("%s: got %x, the reference writes %x", name, pair[0], pair[1])
			}
		}
	}
}

func oracle(t *testing.T, encode func(*msgpack.Encoder) error) []byte {
	var buf bytes.Buffer
	if err := encode(msgpack.NewEncoder(&buf)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func FuzzSampleAgainstOracle(f *testing.F) {
	f.Add(uint64(1), int64(-5), 1.5, "text", []byte{0, 0xff}, int64(1_700_000_000), uint32(5))
	f.Add(uint64(math.MaxUint64), int64(math.MinInt64), math.Inf(-1), "", []byte(nil), int64(-62135596800), uint32(0))
	f.Fuzz(func(t *testing.T, u uint64, i int64, x float64, text string, data []byte, sec int64, nsec uint32) {
		s := &sample{U64: u, I64: i, F64: x, Text: text, Data: data, Names: []string{text}, Missing: &i,
			U8: uint8(u), U16: uint16(u), U32: uint32(u), I8: int8(i), I16: int16(i), I32: int32(i),
			At: time.Unix(sec, int64(nsec%1e9)), Took: time.Duration(i)}
		checkSample(t, s)
	})
}

// What a typed method accepts, the reference reads as the same value.
func FuzzReaderAgainstOracle(f *testing.F) {
	for _, v := range []any{int64(5), int64(-300), uint64(math.MaxUint64), 1.5, float32(1.5), "text", []byte("data"), instants[8], instants[11], true} {
		f.Add(oracleEncode(f, v, true))
		f.Add(oracleEncode(f, v, false))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for typ, decode := range oracleReaders {
			r := readerOf(b)
			got := readers[typ](r)
			if r.Err() != nil || typ == "float64" && wrapsInOracle(b) {
				continue
			}
			in := bytes.NewReader(b)
			want, err := decode(msgpack.NewDecoder(in))
			if err != nil {
				t.Errorf("%s: %x: got %v, the reference fails: %v", typ, b, got, err)
			} else if !sameValue(got, want) {
				t.Errorf("%s: %x: got %v, the reference reads %v", typ, b, got, want)
			}
			if read := len(b) - in.Len(); read != r.off {
				t.Errorf("%s: %x: %d bytes read, the reference reads %d", typ, b, r.off, read)
			}
		}
		r := readerOf(b)
		if r.Skip(); r.Err() == nil {
			in := bytes.NewReader(b)
			if err := msgpack.NewDecoder(in).Skip(); err != nil || len(b)-in.Len() != r.off {
				t.Errorf("%x: skipped %d bytes, the reference %d, %v", b, r.off, len(b)-in.Len(), err)
			}
		}
	})
}

// wrapsInOracle tells whether b is an integer above MaxInt64, which the
// reference turns into a negative float.
func wrapsInOracle(b []byte) bool { return b[0] == msgUint64 && b[1] >= 0x80 }

// oracleReaders are the methods of the reference that correspond to readers.
// float32 is not among them, for the reference refuses what is exact.
var oracleReaders = map[string]func(*msgpack.Decoder) (any, error){
	"bool":    func(d *msgpack.Decoder) (any, error) { return as(d.DecodeBool()) },
	"int8":    func(d *msgpack.Decoder) (any, error) { return as(d.DecodeInt8()) },
	"int32":   func(d *msgpack.Decoder) (any, error) { return as(d.DecodeInt32()) },
	"int64":   func(d *msgpack.Decoder) (any, error) { return as(d.DecodeInt64()) },
	"uint8":   func(d *msgpack.Decoder) (any, error) { return as(d.DecodeUint8()) },
	"uint64":  func(d *msgpack.Decoder) (any, error) { return as(d.DecodeUint64()) },
	"float64": func(d *msgpack.Decoder) (any, error) { return as(d.DecodeFloat64()) },
	"string":  func(d *msgpack.Decoder) (any, error) { return as(d.DecodeString()) },
	"time":    func(d *msgpack.Decoder) (any, error) { return as(d.DecodeTime()) },
	"bytes": func(d *msgpack.Decoder) (any, error) {
		b, err := d.DecodeBytes()
		return string(b), err
	},
}

func as[T any](v T, err error) (any, error) { return v, err }

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case time.Time:
		return a.Equal(b.(time.Time))
	case float64:
		return math.Float64bits(a) == math.Float64bits(b.(float64))
	}
	return a == b
}
