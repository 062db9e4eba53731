package codec

import (
	"bytes"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// reading is a small row, as in a stream of sensor readings.
type reading struct {
	Sensor string    `msgpack:"sensor"`
	At     time.Time `msgpack:"at"`
	Volts  float64   `msgpack:"volts"`
	Count  int       `msgpack:"count"`
	Ok     bool      `msgpack:"ok"`
}

var benchReading = reading{Sensor: "sensor-0123456789", At: instants[8], Volts: 3.3, Count: 70000, Ok: true}

func (v *reading) append(dst []byte) []byte {
	dst = AppendArrayHeader(dst, 5)
	dst = AppendString(dst, v.Sensor)
	dst = AppendTime(dst, v.At)
	dst = AppendFloat64(dst, v.Volts)
	dst = AppendInt(dst, int64(v.Count))
	return AppendBool(dst, v.Ok)
}

func (v *reading) read(r *Reader) {
	r.Struct(5)
	r.At("sensor")
	v.Sensor = r.String()
	r.At("at")
	v.At = r.Time()
	r.At("volts")
	v.Volts = r.Float64()
	r.At("count")
	v.Count = r.Int()
	r.At("ok")
	v.Ok = r.Bool()
	r.EndStruct()
}

func BenchmarkEncode(b *testing.B) {
	b.Run("codec", func(b *testing.B) {
		var dst []byte
		for b.Loop() {
			dst = benchReading.append(dst[:0])
		}
		b.SetBytes(int64(len(dst)))
	})
	for name, array := range map[string]bool{"v5 map": false, "v5 array": true} {
		b.Run(name, func(b *testing.B) {
			var buf bytes.Buffer
			e := msgpack.NewEncoder(&buf)
			e.UseArrayEncodedStructs(array)
			for b.Loop() {
				buf.Reset()
				if err := e.Encode(&benchReading); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(buf.Len()))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	b.Run("codec", func(b *testing.B) {
		in := benchReading.append(nil)
		var r Reader
		var v reading
		for b.Loop() {
			r.Reset(in)
			if v.read(&r); r.Done() != nil {
				b.Fatal(r.Err())
			}
		}
		b.SetBytes(int64(len(in)))
	})
	for name, array := range map[string]bool{"v5 map": false, "v5 array": true} {
		b.Run(name, func(b *testing.B) {
			var buf bytes.Buffer
			e := msgpack.NewEncoder(&buf)
			e.UseArrayEncodedStructs(array)
			if err := e.Encode(&benchReading); err != nil {
				b.Fatal(err)
			}
			in := bytes.NewReader(nil)
			d := msgpack.NewDecoder(in)
			var v reading
			for b.Loop() {
				in.Reset(buf.Bytes())
				d.Reset(in)
				if err := d.Decode(&v); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(buf.Len()))
		})
	}
}

func BenchmarkKey(b *testing.B) {
	var key []byte
	var r KeyReader
	for b.Loop() {
		key = AppendKeyTime(AppendKeyInt64(AppendKeyString(key[:0], "sensor-0123456789"), -5), instants[8])
		r.Reset(key)
		_, _, _ = r.String(), r.Int64(), r.Time()
		if r.Done() != nil {
			b.Fatal(r.Err())
		}
	}
}

func BenchmarkJSONRead(b *testing.B) {
	in := []byte(`{"id":12345678901,"x":3.25,"d":-5,"ok":true,"none":null,"skip":[{"a":"b"},1.5e3]}`)
	b.SetBytes(int64(len(in)))
	var r JSONReader
	for b.Loop() {
		r.Reset(in)
		if !readNumbers(&r) {
			b.Fatal(r.Err())
		}
	}
}
