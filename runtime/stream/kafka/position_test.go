package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
)

var testJournal = [][]byte{
	[]byte(`{"version":1,"topics":[{"topic":"a","id":"00000000000000000000000000000001","generation":1,"partitions":[{"partition":0,"start":17},{"partition":1,"start":0}]}]}`),
	[]byte(`{"version":1,"topics":[{"topic":"b","id":"00000000000000000000000000000002","generation":1,"partitions":[{"partition":10,"start":0},{"partition":2,"start":0}]}]}`),
	[]byte(`{"version":1,"topics":[{"topic":"a","id":"00000000000000000000000000000003","generation":2,"partitions":[{"partition":1,"start":4}]}]}`),
}

func loaded(t testing.TB, journal [][]byte) *ledger {
	t.Helper()
	var l ledger
	if err := l.load(journal); err != nil {
		t.Fatal(err)
	}
	return &l
}

// TestPositions: equal places have equal bytes, and partitions at their start are
// not mentioned.
func TestPositions(t *testing.T) {
	t.Parallel()
	l := loaded(t, testJournal)
	for _, c := range []struct {
		pos  string
		want []int64
	}{
		{``, []int64{17, 4, 0, 0}},
		{`{"a":{"0":20,"1":3}}`, []int64{17, 4, 0, 0}},
		{`{"a":{"0":20},"a@2":{"1":5},"b":{"2":8,"10":7}}`, []int64{17, 5, 7, 8}},
	} {
		p, err := l.resolve(stream.Position(c.pos))
		if err != nil {
			t.Fatalf("%s: %v", c.pos, err)
		}
		if diff := cmp.Diff(c.want, p.at); diff != "" {
			t.Errorf("%s: %s", c.pos, diff)
		}
		if got := l.encode(p); string(got) != c.pos {
			t.Errorf("%s comes back as %s", c.pos, got)
		}
	}
}

func TestDamagedPositions(t *testing.T) {
	t.Parallel()
	l := loaded(t, testJournal)
	for pos, want := range map[string]string{
		`{`:                     "is damaged",
		`{}`:                    "is damaged",
		`{"b":{}}`:              "is damaged",
		`{"b":{"2":-1}}`:        "is damaged",
		`{"b":{"02":1}}`:        "is damaged",
		`{"b":{"10":1,"2":1}}`:  "is damaged",
		`{"a@1":{"1":5}}`:       "is damaged",
		`{"c":{"0":1}}`:         "speaks of c, which the journal does not know",
		`{"a@3":{"1":9}}`:       "speaks of a@3",
		`{"b":{"3":1}}`:         "speaks of topic b, partition 3",
		`{"a@2":{"1":4}}`:       "was to begin at 4",
		`{"a@2":{"1":5}} [1,2]`: "is damaged",
	} {
		_, err := l.resolve(stream.Position(pos))
		if err == nil {
			t.Errorf("%s is taken, want an error with %q", pos, want)
			continue
		}
		wantError(t, err, want)
	}
}

func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	const id = `"id":"00000000000000000000000000000001"`
	for entry, want := range map[string]string{
		`{`:                         "journal entry 1 is damaged",
		`{"v":1,"add":["a.jsonl"]}`: "a source of another kind under this name",
		`{"version":2}`:             "version 2",
		`{"version":1,"topics":[{"topic":"","generation":1}]}`:                                                       "a topic is named",
		`{"version":1,"topics":[{"topic":"x@2","generation":1}]}`:                                                    "a topic is named",
		`{"version":1,"topics":[{"topic":"x","id":"12","generation":1}]}`:                                            "32 hexadecimal digits",
		`{"version":1,"topics":[{"topic":"x",` + id + `,"generation":2}]}`:                                           "has generation 2",
		`{"version":1,"topics":[{"topic":"a",` + id + `,"generation":3}]}`:                                           "has generation 3",
		`{"version":1,"topics":[{"topic":"a",` + id + `,"generation":1,"partitions":[{"partition":0,"start":0}]}]}`:  "named twice",
		`{"version":1,"topics":[{"topic":"x",` + id + `,"generation":1,"partitions":[{"partition":0,"start":-1}]}]}`: "at offset -1",
	} {
		var l ledger
		wantError(t, l.load([][]byte{testJournal[0], []byte(entry)}), want)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	f := &feed{ledger: *loaded(t, testJournal)}
	for _, c := range []struct{ from, to, want string }{
		{`{"b":{"2":8}}`, `{"b":{"2":7}}`, "is beyond the end"},
		{`{"a":{"0":20}}`, `{"b":{"2":7}}`, "made anew"},
		{`{`, ``, "restore the checkpoint"},
	} {
		_, _, err := f.span(stream.Position(c.from), stream.Position(c.to))
		wantError(t, err, c.want)
	}
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte(`{"a":{"0":20},"a@2":{"1":5},"b":{"2":8,"10":7}}`))
	f.Add([]byte(`{"b":{"2":8 }}`))
	f.Fuzz(func(t *testing.T, pos []byte) {
		l := loaded(t, testJournal)
		p, err := l.resolve(pos)
		if err != nil {
			return
		}
		again, err := l.resolve(l.encode(p))
		if err != nil || !again.same(p) {
			t.Errorf("%q is read as %v, and comes back as %v, %v", pos, p, again, err)
		}
	})
}

func FuzzLedger(f *testing.F) {
	f.Add(testJournal[0])
	f.Fuzz(func(t *testing.T, entry []byte) {
		var l ledger
		if l.load([][]byte{testJournal[0], entry}) != nil {
			return
		}
		if len(l.logs) != len(l.ordinal) {
			t.Errorf("%q leads to %d logs with %d ordinals", entry, len(l.logs), len(l.ordinal))
		}
		if p, err := l.resolve(l.encode(l.start())); err != nil || !p.same(l.start()) {
			t.Errorf("%q: the start is not read back: %v", entry, err)
		}
	})
}
