package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// goldenBatch is a batch byte by byte, as RocksDB writes it.
const goldenBatch = "0000000000000000" + "05000000" +
	"01" + "01" + "61" + "10" + "0000000000000102" + "0000000000000003" + // mark
	"01" + "02" + "6b31" + "02" + "7631" + // put point
	"00" + "02" + "6b32" + // delete point
	"05" + "01" + "02" + "6b33" + "00" + // put ordered, empty
	"04" + "01" + "00" // delete ordered, empty key

func golden() *Batch {
	var b Batch
	b.Reset(Mark{Epoch: 0x102, Attempt: 3})
	b.Put(Point, []byte("k1"), []byte("v1"))
	b.Delete(Point, []byte("k2"))
	b.Put(Ordered, []byte("k3"), nil)
	b.Delete(Ordered, nil)
	return &b
}

func TestBatchBytes(t *testing.T) {
	t.Parallel()
	b := golden()
	if got := hex.EncodeToString(b.Bytes()); got != goldenBatch || b.Len() != len(goldenBatch)/2 {
		t.Errorf("got  %s (%d bytes)\nwant %s", got, b.Len(), goldenBatch)
	}
	b.Reset(Mark{Epoch: 1})
	if m, err := BatchMark(b.Bytes()); m != (Mark{Epoch: 1}) || err != nil {
		t.Errorf("after Reset: %+v, %v", m, err)
	}
}

func TestEachRecord(t *testing.T) {
	t.Parallel()
	var got []string
	err := EachRecord(golden().Bytes(), func(f Family, key, value []byte, del bool) {
		got = append(got, fmt.Sprintf("%d %q %q %v", f, key, value, del))
	})
	want := []string{
		`0 "a" "\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x03" false`,
		`0 "k1" "v1" false`, `0 "k2" "" true`, `1 "k3" "" false`, `1 "" "" true`,
	}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
	if m, err := BatchMark(golden().Bytes()); m != (Mark{Epoch: 0x102, Attempt: 3}) || err != nil {
		t.Errorf("mark %+v, %v", m, err)
	}
}

func TestBadBatches(t *testing.T) {
	t.Parallel()
	good := golden().Bytes()
	nothing := func(Family, []byte, []byte, bool) {}
	for n := range good {
		if err := EachRecord(good[:n], nothing); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v, want ErrCorrupt", n, err)
		}
	}
	for name, data := range map[string][]byte{
		"more":            append(bytes.Clone(good), 0),
		"type":            append(append([]byte{}, good[:8]...), 1, 0, 0, 0, 2, 0),
		"family":          append(append([]byte{}, good[:8]...), 1, 0, 0, 0, 4, 2, 0),
		"length":          append(append([]byte{}, good[:8]...), 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"length too long": append(append([]byte{}, good[:8]...), 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	} {
		if err := EachRecord(data, nothing); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"nothing":     nil,
		"no record":   good[:12],
		"other first": append(append([]byte{}, good[:12]...), 1, 1, 'b', 0),
		"deleted":     append(append([]byte{}, good[:12]...), 0, 1, 'a'),
		"short value": append(append([]byte{}, good[:12]...), 1, 1, 'a', 2, 0, 0),
	} {
		if m, err := BatchMark(data); !errors.Is(err, ErrCorrupt) {
			t.Errorf("mark of %s: %+v, %v, want ErrCorrupt", name, m, err)
		}
	}
}

func FuzzEachRecord(f *testing.F) {
	f.Add(golden().Bytes())
	f.Add([]byte{})
	f.Add(golden().Bytes()[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		mark, markErr := BatchMark(data)
		var again Batch
		again.Reset(mark)
		first := true // the mark, which Reset has put
		err := EachRecord(data, func(f Family, key, value []byte, del bool) {
			switch {
			case first:
				first = false
			case del:
				again.Delete(f, key)
			default:
				again.Put(f, key, value)
			}
		})
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an error that does not match ErrCorrupt: %v", err)
		}
		if err != nil || markErr != nil {
			return
		}
		// The records of a whole batch make a batch with the same records.
		var a, b []string
		collect := func(to *[]string) func(Family, []byte, []byte, bool) {
			return func(f Family, key, value []byte, del bool) {
				*to = append(*to, fmt.Sprintf("%d %q %q %v", f, key, value, del))
			}
		}
		if err := errors.Join(EachRecord(data, collect(&a)), EachRecord(again.Bytes(), collect(&b))); err != nil {
			t.Fatal(err)
		}
		if strings.Join(a, "\n") != strings.Join(b, "\n") {
			t.Fatalf("read  %q\nwrote %q", a, b)
		}
	})
}

func TestDecodeMark(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 15, 17} {
		if _, err := DecodeMark(make([]byte, n)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
