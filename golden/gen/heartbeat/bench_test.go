package heartbeat

import (
	"encoding/json"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

var reading = Reading{SensorID: 123456, SensorType: "temperature", Value: 42}

// The generated codecs beside those that work by reflection: one encode and one
// decode of a Reading.
func BenchmarkReading(b *testing.B) {
	row := (*Reading)(nil).TWSRow()
	b.Run("row/msgpack", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			var v Reading
			buf = row.Append(buf[:0], &reading)
			if err := row.Decode(buf, &v); err != nil || v != reading {
				b.Fatal(err, v)
			}
		}
	})
	b.Run("row/json", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			var v Reading
			var err error
			if buf, err = row.AppendJSON(buf[:0], &reading); err != nil {
				b.Fatal(err)
			}
			if err := row.DecodeJSON(buf, &v); err != nil || v != reading {
				b.Fatal(err, v)
			}
		}
	})
	b.Run("msgpack/v5", func(b *testing.B) { benchmark(b, msgpack.Marshal, msgpack.Unmarshal) })
	b.Run("encoding/json", func(b *testing.B) { benchmark(b, json.Marshal, json.Unmarshal) })
}

func benchmark(b *testing.B, marshal func(any) ([]byte, error), unmarshal func([]byte, any) error) {
	b.ReportAllocs()
	for b.Loop() {
		var v Reading
		buf, err := marshal(&reading)
		if err != nil {
			b.Fatal(err)
		}
		if err := unmarshal(buf, &v); err != nil || v != reading {
			b.Fatal(err, v)
		}
	}
}
