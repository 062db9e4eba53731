package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var journalHeader = appendHeader(nil, kindJournal, formatVersion, nil)

func journalBytes(entries ...string) []byte {
	data := bytes.Clone(journalHeader)
	for _, e := range entries {
		data = appendFrame(data, []byte(e))
	}
	return data
}

func toStrings(entries [][]byte) []string {
	var out []string
	for _, e := range entries {
		out = append(out, string(e))
	}
	return out
}

func wantJournal(t *testing.T, f *Flow, want ...string) {
	t.Helper()
	got, err := f.Journal("src")
	if err != nil || !slices.Equal(toStrings(got), want) {
		t.Fatalf("journal %q, %v; want %q", got, err, want)
	}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	wantJournal(t, f)
	must(t, f.AppendJournal("src", []byte("one")))
	must(t, f.AppendJournal("src", nil))
	must(t, f.AppendJournal("other", []byte("x")))
	f = reopen(t, f)
	must(t, f.AppendJournal("src", []byte("three\x00\n"))) // before it is read
	wantJournal(t, f, "one", "", "three\x00\n")
	wantJournal(t, reopen(t, f), "one", "", "three\x00\n")
	for _, name := range []string{"", "a/b", ".."} {
		_, err := f.Journal(name)
		wantRefused(t, err, "source name")
		wantRefused(t, f.AppendJournal(name, nil), "source name")
	}
}

// B-36: cut at every length, a journal loses its last entry at most, with a
// warning, and goes on from there.
func TestJournalCut(t *testing.T) {
	t.Parallel()
	whole := journalBytes("first", "second")
	oneEntry := len(journalBytes("first"))
	for size := range len(whole) {
		var log bytes.Buffer
		f := openFlowIn(t, t.TempDir(), &log)
		must(t, os.WriteFile(f.journalPath("src"), whole[:size], 0o666))
		if size < len(journalHeader) {
			_, err := f.Journal("src")
			wantErr(t, err, ErrCorrupt, f.journalPath("src"))
			wantErr(t, f.AppendJournal("src", nil), ErrCorrupt)
			continue
		}
		want := []string{"first"}
		if size < oneEntry {
			want = nil
		}
		wantJournal(t, f, want...)
		atBoundary := size == len(journalHeader) || size == oneEntry
		if warned := strings.Contains(log.String(), "unfinished last entry"); warned == atBoundary {
			t.Errorf("cut at %d: warned %v: %s", size, warned, &log)
		}
		must(t, f.AppendJournal("src", []byte("next")))
		wantJournal(t, reopen(t, f), append(want, "next")...)
	}
}

// A machine that goes down may leave the file longer than what reached it.
func TestJournalZeroTail(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, frameHeader, 5000} {
		var log bytes.Buffer
		f := openFlowIn(t, t.TempDir(), &log)
		must(t, os.WriteFile(f.journalPath("src"), append(journalBytes("a"), make([]byte, n)...), 0o666))
		wantJournal(t, f, "a")
		if !strings.Contains(log.String(), "unfinished last entry") {
			t.Errorf("no warning for %d zeros", n)
		}
		must(t, f.AppendJournal("src", []byte("b")))
		wantJournal(t, reopen(t, f), "a", "b")
	}
}

// B-36: a changed bit anywhere, the last entry included, is an error and never a
// shorter journal.
func TestJournalFlipped(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	path := f.journalPath("src")
	whole := journalBytes("first", "", strings.Repeat("\x00", 30))
	for i := range whole {
		for bit := range 8 {
			data := bytes.Clone(whole)
			data[i] ^= 1 << bit
			must(t, os.WriteFile(path, data, 0o666))
			_, err := f.Journal("src")
			wantErr(t, err, ErrCorrupt, path)
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("byte %d bit %d: the file was changed", i, bit)
			}
		}
	}
	data := bytes.Clone(whole)
	data[len(journalHeader)+frameHeader] ^= 1
	must(t, os.WriteFile(path, data, 0o666))
	_, err := f.Journal("src")
	wantErr(t, err, ErrCorrupt, fmt.Sprintf("entry 1 at byte %d", len(journalHeader)), "checksum")
}

// An entry whose writing failed is overwritten, not kept as damage.
func TestJournalAfterFailedAppend(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.AppendJournal("src", []byte("a")))
	half := appendFrame(nil, []byte("a long entry that did not fit"))[:20]
	file, err := os.OpenFile(f.journalPath("src"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.Write(half)
	must(t, err)
	must(t, file.Close())
	must(t, f.AppendJournal("src", []byte("b")))
	wantJournal(t, f, "a", "b")
}

func TestJournalTampered(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.AppendJournal("src", []byte("a")))
	must(t, os.Truncate(f.journalPath("src"), 3))
	wantErr(t, f.AppendJournal("src", []byte("b")), ErrCorrupt, "src.journal", "3 bytes")
	must(t, os.WriteFile(f.journalPath("src"), seal("tws journal 1 3", "abc"), 0o666))
	_, err := f.Journal("src")
	wantErr(t, err, ErrCorrupt, "has a payload")
}

func FuzzJournal(f *testing.F) {
	f.Add(journalBytes("first", "", "third"))
	f.Add(journalBytes("first", "second")[:50])
	f.Add(append(journalBytes("first"), 0, 0, 0))
	f.Add(append(bytes.Clone(journalHeader), 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The header is checked by FuzzRecord; go past it.
		if !bytes.HasPrefix(data, journalHeader) {
			data = append(bytes.Clone(journalHeader), data...)
		}
		entries, size, err := parseJournal(data)
		if err != nil {
			return
		}
		if again := journalBytes(toStrings(entries)...); size > len(data) || !bytes.Equal(again, data[:size]) {
			t.Fatalf("%d entries of %d bytes do not make the file's %d bytes", len(entries), len(again), size)
		}
	})
}
