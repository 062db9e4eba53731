package codec

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "re-record golden files")

// part is some bytes of a form and what they mean.
type part struct {
	note  string
	bytes []byte
}

// form is one encoding with its parts, in order.
type form struct {
	title string
	parts []part
}

// one is a form of a single part.
func one(title string, b []byte, note string) form { return form{title, []part{{note, b}}} }

// render writes forms for the eye: hexadecimal bytes, then what they mean. A
// long run is cut, and its length given.
func render(about string, forms []form) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n# Recorded by: go test ./codec -run TestGolden -update\n", about)
	title := ""
	for _, f := range forms {
		if f.title != title || len(f.parts) > 1 {
			title = f.title
			fmt.Fprintf(&out, "\n%s\n", title)
		}
		for _, p := range f.parts {
			if len(p.bytes) > 0 {
				fmt.Fprintf(&out, "  %-44s  %s\n", renderHex(p.bytes), p.note)
			}
		}
	}
	return out.String()
}

func renderHex(b []byte) string {
	const most = 15
	if len(b) <= most {
		return fmt.Sprintf("% x", b)
	}
	return fmt.Sprintf("% x … (%d in all)", b[:6], len(b))
}

func renderText(about string, lines []part) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n# Recorded by: go test ./codec -run TestGolden -update\n\n", about)
	for _, l := range lines {
		fmt.Fprintf(&out, "%-50s  %s\n", l.bytes, l.note)
	}
	return out.String()
}

// TestGolden pins the bytes of every form. A change of a golden file is a change
// of the stored format.
func TestGolden(t *testing.T) {
	t.Parallel()
	golden(t, "msgpack.txt", render("msgpack: every form that bodies are written in.", msgpackForms()))
	golden(t, "header.txt", render("The header in front of every stored value.", headerForms()))
	golden(t, "keys.txt", render("Keys: the order of the bytes is the order of the values, here within each type.", keyForms()))
	golden(t, "json.txt", renderText("JSON: how values are written.", jsonForms(t)))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "golden", "codec", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: record it with -update", err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if g, w := lineAt(gotLines, i), lineAt(wantLines, i); g != w {
			t.Errorf("%s:%d: the bytes changed:\n got %s\nwant %s", path, i+1, g, w)
			return
		}
	}
}

// The dumps in the documentation are lines of the golden files.
func TestDocumentedDumpsAreGolden(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "docs", "internals", "codec.md"))
	if err != nil {
		t.Fatal(err)
	}
	var golden strings.Builder
	for _, name := range []string{"msgpack.txt", "header.txt", "keys.txt"} {
		b, err := os.ReadFile(filepath.Join("..", "golden", "codec", name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Write(b)
	}
	dumps := strings.Split(string(doc), "```dump\n")[1:]
	if len(dumps) == 0 {
		t.Error("no dumps found")
	}
	for _, dump := range dumps {
		dump, _, _ = strings.Cut(dump, "```")
		if !strings.Contains(golden.String(), dump) {
			t.Errorf("not in the golden files:\n%s", dump)
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no line)"
}

func msgpackForms() []form {
	forms := []form{
		one("nil", AppendNil(nil), "an absent optional value, a nil list, nil bytes"),
		one("bool", AppendBool(nil, false), "false"),
		one("bool", AppendBool(nil, true), "true"),
	}
	for _, v := range []int64{0, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64,
		-1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1, math.MinInt64} {
		forms = append(forms, one("int", AppendInt(nil, v), fmt.Sprint(v)))
	}
	forms = append(forms,
		one("uint", AppendUint(nil, math.MaxUint64), fmt.Sprint(uint64(math.MaxUint64))),
		one("float32", AppendFloat32(nil, 1.5), "1.5"),
		one("float64", AppendFloat64(nil, 0.1), "0.1"),
		one("float64", AppendFloat64(nil, math.Copysign(0, -1)), "-0"),
		one("float64", AppendFloat64(nil, math.Inf(-1)), "-Inf"),
		one("duration", AppendDuration(nil, 90*time.Second), "1m30s, in nanoseconds"))
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		forms = append(forms, headed("string", AppendString(nil, strings.Repeat("a", n)), n))
	}
	for _, n := range []int{0, 1, 255, 256, 65535, 65536} {
		forms = append(forms, headed("bytes", AppendBytes(nil, make([]byte, n)), n))
	}
	for _, v := range instants {
		forms = append(forms, one("time", AppendTime(nil, v), v.UTC().Format(time.RFC3339Nano)))
	}
	for _, n := range []int{0, 15, 16, 65535, 65536} {
		forms = append(forms, one("array header", AppendArrayHeader(nil, n), fmt.Sprintf("%d elements follow", n)))
	}
	return append(forms, structForm())
}

// headed splits b into a header and n bytes of content.
func headed(title string, b []byte, n int) form {
	head := len(b) - n
	return form{title, []part{{fmt.Sprintf("length %d", n), b[:head]}, {"content", b[head:]}}}
}

// structForm is a stored struct of every kind of field.
func structForm() form {
	return form{"struct {name string; at time; volts float64; count int64; note *string; tags []string}", []part{
		{"6 fields, in the order of their ids", AppendArrayHeader(nil, 6)},
		{`name: "probe"`, AppendString(nil, "probe")},
		{"at: 2024-01-01T00:00:00.000000005Z", AppendTime(nil, instants[8])},
		{"volts: 3.5", AppendFloat64(nil, 3.5)},
		{"count: 70000", AppendInt(nil, 70000)},
		{"note: absent", AppendNil(nil)},
		{"tags: 2 elements", AppendArrayHeader(nil, 2)},
		{`tags[0]: "a"`, AppendString(nil, "a")},
		{`tags[1]: ""`, AppendString(nil, "")},
	}}
}

func headerForms() []form {
	expiring := AppendHeader(nil, Header{Version: 300, Expires: true, ExpiresAtMicros: 1_704_067_200_000_000})
	early := AppendHeader(nil, Header{Version: 1, Expires: true, ExpiresAtMicros: -1})
	return []form{
		{"without expiry, version 1", split(AppendHeader(nil, Header{Version: 1}), part{note: "flags: none"}, part{note: "version 1"})},
		{"without expiry, version 300", split(AppendHeader(nil, Header{Version: 300}), part{note: "flags: none"}, part{note: "version 300"})},
		{"with expiry, version 300", []part{
			{"flags: expires", expiring[:1]},
			{"expiry 2024-01-01T00:00:00Z, in microseconds", expiring[1:9]},
			{"version 300", expiring[9:]},
		}},
		{"with an expiry before 1970, version 1", []part{
			{"flags: expires", early[:1]},
			{"expiry -1 microsecond", early[1:9]},
			{"version 1", early[9:]},
		}},
	}
}

// split gives first the first byte of b and second the others.
func split(b []byte, first, second part) []part {
	first.bytes, second.bytes = b[:1], b[1:]
	return []part{first, second}
}

func keyForms() []form {
	var forms []form
	add := func(title string, b []byte, v any) { forms = append(forms, one(title, b, fmt.Sprint(v))) }
	add("bool", AppendKeyBool(nil, false), false)
	add("bool", AppendKeyBool(nil, true), true)
	for _, v := range []int8{math.MinInt8, -1, 0, 1, math.MaxInt8} {
		add("int8", AppendKeyInt8(nil, v), v)
	}
	for _, v := range []int16{math.MinInt16, -1, 0, 1, math.MaxInt16} {
		add("int16", AppendKeyInt16(nil, v), v)
	}
	for _, v := range []int32{math.MinInt32, -1, 0, 1, math.MaxInt32} {
		add("int32", AppendKeyInt32(nil, v), v)
	}
	for _, v := range []int64{math.MinInt64, -256, -1, 0, 1, 255, 256, math.MaxInt64} {
		add("int64, int", AppendKeyInt64(nil, v), v)
	}
	add("uint8", AppendKeyUint8(nil, 200), 200)
	add("uint16", AppendKeyUint16(nil, 256), 256)
	add("uint32", AppendKeyUint32(nil, 256), 256)
	add("uint64, uint", AppendKeyUint64(nil, math.MaxUint64), uint64(math.MaxUint64))
	for _, v := range []float32{float32(math.Inf(-1)), -1.5, 0, 1.5, float32(math.Inf(1)), float32(math.NaN())} {
		add("float32", AppendKeyFloat32(nil, v), v)
	}
	for _, v := range []float64{math.Inf(-1), -1.5, math.Copysign(0, -1), 0, 1.5, math.Inf(1), math.NaN()} {
		add("float64", AppendKeyFloat64(nil, v), v)
	}
	for _, v := range []string{"", "\x00", "a", "a\x00", "a\x00b", "ab", "b", "\xff"} {
		forms = append(forms, one("string, bytes", AppendKeyString(nil, v), fmt.Sprintf("%q", v)))
	}
	for _, v := range []time.Time{{}, instants[3], instants[1], instants[8], instants[12]} {
		add("time", AppendKeyTime(nil, v), v.UTC().Format(time.RFC3339Nano))
	}
	for _, v := range []time.Duration{-time.Second, 0, time.Second} {
		add("duration", AppendKeyDuration(nil, v), v)
	}
	return append(forms, form{"struct {site string; slot uint16}", []part{
		{`site: "lab"`, AppendKeyString(nil, "lab")},
		{"slot: 7", AppendKeyUint16(nil, 7)},
	}})
}

func jsonForms(t *testing.T) []part {
	lines := []part{
		{"bool", AppendJSONBool(nil, true)},
		{"int64", AppendJSONInt(nil, math.MinInt64)},
		{"uint64", AppendJSONUint(nil, math.MaxUint64)},
		{"duration 1m30s", AppendJSONDuration(nil, 90*time.Second)},
		{"bytes, nil", AppendJSONBytes(nil, nil)},
		{"bytes, none", AppendJSONBytes(nil, []byte{})},
		{"bytes 00 ff", AppendJSONBytes(nil, []byte{0, 0xff})},
	}
	for _, v := range []float64{0, 0.1, 1e20, 1e21, 1e-6, 1e-7} {
		b, err := AppendJSONFloat(nil, v, 64)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, part{fmt.Sprint("float64 ", v), b})
	}
	b, err := AppendJSONFloat(nil, float64(float32(0.1)), 32)
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, part{"float32 0.1", b})
	for _, v := range []time.Time{{}, instants[8], instants[12]} {
		b, err := AppendJSONTime(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, part{"time", b})
	}
	for _, v := range []string{"", `quote " and backslash \`, "line\nend", "\x00\x1f", "<é日😀>", "\u2028", "not UTF-8: \xff"} {
		lines = append(lines, part{fmt.Sprintf("string %+q", v), AppendJSONString(nil, v)})
	}
	return lines
}
