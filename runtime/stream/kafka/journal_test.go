package kafka

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// What is written to the journal is read by later programs, and is what
// docs/internals/kafka.md says.
func TestJournalAsDocumented(t *testing.T) {
	t.Parallel()
	const doc = "../../../docs/internals/kafka.md"
	c := newSinkCluster(t)
	r := c.named(stream.Standing{}, "host-a/101/00a1b2c3d4e5")
	r.epoch()
	r.stage(1, 1)
	c.fault(kmsg.EndTxn, kerr.InvalidProducerEpoch)
	if err := r.deliver(); err != nil {
		t.Fatal(err)
	}
	if err := r.commit(); err == nil {
		t.Fatal("the commit did not fail")
	}
	r.settle(false)
	r.stage(2, 1)
	r.again()
	c.named(r.standing, "host-b/202/f6a7b8c9d0e1").epoch()

	var got bytes.Buffer
	for _, rec := range c.committed(c.journal) {
		if string(rec.Key) != c.unit.String() {
			t.Errorf("a record has key %q", rec.Key)
		}
		got.Write(append(rec.Value, '\n'))
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), got.String()) {
		t.Errorf("%s has another journal than\n%s", doc, &got)
	}
	if state := string(r.standing.Last.Staged.State); !strings.Contains(string(text), state) {
		t.Errorf("%s has another staged state than %s", doc, state)
	}
	for record := range strings.Lines(got.String()) {
		if _, err := parseJournalRecord([]byte(record), c.unit.String()); err != nil {
			t.Error(err)
		}
	}
}

// named starts an instance with a name.
func (c *sinkCluster) named(s stream.Standing, name string) *run {
	c.t.Helper()
	r := c.run(Sink[sinkRow]{}, s)
	r.w.(*transactional[sinkRow]).instance = name
	r.settle(false)
	return r
}

func FuzzParseJournalRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"unit":"u","epoch":1,"attempt":1,"manifest":"m","sink":"topic a","writer":"w"}`))
	f.Add([]byte(`{"format":1,"unit":"u","epoch":-1,"writer":"w"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseJournalRecord(b, "u")
		if err == nil && (r.Format != journalFormat || r.Unit != "u" || r.Epoch < 0 || r.Writer == "") {
			t.Errorf("%q is read as %+v", b, r)
		}
	})
}
