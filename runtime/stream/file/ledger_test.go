package file

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

func TestDamagedPosition(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1))
	f.discover(false)
	f.pass(DefaultSettle)
	f.append("b", rowsText(2))
	end := f.discover(false)
	if string(end) != `{"next":2,"open":{"1":9}}` {
		t.Fatalf("end is %s", end)
	}
	for pos, want := range map[string]string{
		`x`:                              "damaged",
		`{}`:                             "damaged",
		`{"next":0}`:                     "damaged",
		`{"next":-1}`:                    "damaged",
		`{"next":1.5}`:                   "damaged",
		`{"next":1,"open":{}}`:           "damaged",
		`{"next":1,"extra":1}`:           "damaged",
		`{"next":1,"open":{"0":0}}`:      "damaged",
		`{"next":1,"open":{"1":5}}`:      "damaged",
		`{"next":1,"open":{"00":5}}`:     "damaged",
		`{"next":1,"open":{"0":-5}}`:     "damaged",
		`{"next":1}{"next":1}`:           "damaged",
		`{"next":3}`:                     "speaks of file 2, but the journal has 2 files",
		`{"next":1,"open":{"0":10}}`:     `beyond the end of file 0 ("a"), which is 9`,
		`{"next":2}`:                     `calls file 1 ("b") finished`,
		`{"next":2,"open":{"1":20}}`:     "has shrunk",
		`{"next":2147483648}`:            "damaged",
		`{"next":2,"open":{"1":9},"x":1`: "damaged",
	} {
		_, _, err := f.tryRead(stream.Position(pos), end)
		wantError(t, err, want, "file: ")
	}
	f.want("indented", ids(f.read(stream.Position("{\n  \"next\": 1\n}"), end)), 2)
	_, _, err := f.tryRead(end, nil)
	wantError(t, err, "beyond the end")
}

func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	const first = `{"v":1,"add":["a","b"],"seal":[{"file":0,"size":9,"modified_ns":5}]}`
	for second, want := range map[string]string{
		``:                                     "EOF",
		`{`:                                    "EOF",
		`{"v":2}`:                              "version 2, want 1",
		`{"v":1}{"v":1}`:                       "more than one JSON value",
		`{"v":1,"ad":["c"]}`:                   "unknown field",
		`{"v":1,"add":["a"]}`:                  `"a" is listed twice`,
		`{"v":1,"add":["../c"]}`:               "not a path inside the folder",
		`{"v":1,"add":["/c"]}`:                 "not a path inside the folder",
		`{"v":1,"add":["c//d"]}`:               "not a path inside the folder",
		`{"v":1,"add":[""]}`:                   "not a path inside the folder",
		`{"v":1,"add":["."]}`:                  "not a path inside the folder",
		`{"v":1,"add":[7]}`:                    "cannot unmarshal",
		`{"v":1,"seal":[{"file":0,"size":9}]}`: "sealed already",
		`{"v":1,"seal":[{"file":2,"size":9}]}`: "does not exist",
		`{"v":1,"seal":[{"file":-1}]}`:         "does not exist",
		`{"v":1,"seal":[{"file":1}]}`:          "size 0",
		`{"v":1,"take":[{"file":1}]}`:          "not beyond 0",
		`{"v":1,"take":[{"file":9}]}`:          "does not exist",
	} {
		f := newFolder(t)
		f.journal = [][]byte{[]byte(first), []byte(second)}
		_, err := f.open()
		wantError(t, err, "file: journal entry 2 of 2 is damaged", want, "restore the checkpoint")
	}
}

// A flow that read a topic reads a folder under the same name.
func TestJournalOfAnotherKind(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.journal = [][]byte{[]byte(`{"version":1,"topics":[{"topic":"sensors"}]}`)}
	_, err := f.open()
	wantError(t, err, "file: the checkpoint has a source of another kind under this name", "a Name of its own")
}

func TestPlaceEncode(t *testing.T) {
	t.Parallel()
	cases := []struct {
		place place
		want  string
	}{
		{place{}, ""},
		{place{next: 3}, `{"next":3}`},
		{place{next: 3, open: []openFile{{0, 0}, {2, 7}}}, `{"next":3,"open":{"0":0,"2":7}}`},
		{place{next: 3, open: []openFile{{0, 5}, {1, 0}, {2, 0}}}, `{"next":1,"open":{"0":5}}`},
		{place{next: 2, open: []openFile{{0, 0}, {1, 0}}}, ""},
		{place{next: 12, open: []openFile{{2, 1}, {10, 4096}}}, `{"next":12,"open":{"2":1,"10":4096}}`},
	}
	for _, c := range cases {
		got := c.place.encode()
		if string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%+v is %q, want %q", c.place, got, c.want)
		}
		if len(got) > 0 && !json.Valid(got) {
			t.Errorf("%q is not JSON", got)
		}
	}
}

func FuzzPosition(f *testing.F) {
	for _, s := range []string{`{"next":12,"open":{"2":1,"10":4096}}`, `{"next":3}`, `{"next":0}`, `{"next": 1}`, `{"open":{"1":2}}`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePlace(b)
		if err != nil {
			if !strings.Contains(err.Error(), "damaged") {
				t.Errorf("error %q does not say that the position is damaged", err)
			}
			return
		}
		if again := p.encode(); len(b) > 0 && !sameJSON(again, b) {
			t.Errorf("%q came back as %q", b, again)
		}
	})
}

func FuzzJournal(f *testing.F) {
	for _, s := range []string{
		`{"v":1,"add":["a","b/c",{"base64":"//4="}],"seal":[{"file":0,"size":9,"modified_ns":5}],"close":true}`,
		`{"v":1,"take":[{"file":1,"end":30}]}`, `{"v":1,"once":true}`, `{"v":1,"add":["%41","a\\b\u2028"]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var a ledger
		if a.load([][]byte{b}) != nil {
			return
		}
		e, err := decodeEntry(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		var c ledger
		if err := c.load([][]byte{again}); err != nil {
			t.Fatalf("%q came back as %q: %v", b, again, err)
		}
		end := a.end().encode()
		if !end.Equal(c.end().encode()) || len(a.number) != len(a.files) {
			t.Errorf("%q came back as %q", b, again)
		}
		if _, err := a.resolve(end); err != nil {
			t.Errorf("%q: the end %q does not fit the journal: %v", b, end, err)
		}
	})
}

// TestJournalBytes pins the form that checkpoints hold.
func TestJournalBytes(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a&b", rowsText(1))
	f.append("\xff", `{"id":2}`)
	f.append("torn", `{"id"`)
	f.discover(true)
	f.pass(DefaultSettle)
	f.remove("torn")
	f.discover(false)
	f.append("c", rowsText(3))
	f.discover(false)
	f.once = true
	f.restart()
	f.discover(false)
	want := []string{
		`{"v":1,"add":["a&b",{"base64":"/w=="}],"heads":[{"file":0,"size":9,"crc32c":2945513209},{"file":1,"size":8,"crc32c":2217211085}],"take":[{"file":1,"end":8}]}`,
		`{"v":1,"seal":[{"file":0,"size":9,"modified_ns":1700000000000000000},{"file":1,"size":8,"modified_ns":1700000000000000000}]}`,
		`{"v":1,"add":["c"],"heads":[{"file":2,"size":9,"crc32c":3774850292}],"close":true}`,
		`{"v":1,"seal":[{"file":2,"size":9,"modified_ns":1700000010000000000}],"once":true}`,
	}
	if len(f.journal) != len(want) {
		t.Fatalf("%d entries, want %d", len(f.journal), len(want))
	}
	for i, w := range want {
		if string(f.journal[i]) != w {
			t.Errorf("entry %d is\n%s, want\n%s", i, f.journal[i], w)
		}
	}
}
