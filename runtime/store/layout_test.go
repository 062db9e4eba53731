package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The hash is part of the format, so these never change.
func TestKeyGroupGolden(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key  string
		want uint16
	}{{"", 66}, {"a", 31}, {"user-1", 73}, {"\x00\xff", 115}} {
		if got := KeyGroup([]byte(test.key), 128); got != test.want {
			t.Errorf("key group of %q in 128 is %d, want %d", test.key, got, test.want)
		}
	}
}

func TestKeyGroupsSpread(t *testing.T) {
	t.Parallel()
	const groups, keys = 128, 100_000
	counts := make([]int, groups)
	for i := range keys {
		counts[KeyGroup([]byte{byte(i), byte(i >> 8), byte(i >> 16)}, groups)]++
	}
	if lo, hi := slices.Min(counts), slices.Max(counts); lo < keys/groups*8/10 || hi > keys/groups*12/10 {
		t.Errorf("groups have from %d to %d of %d keys", lo, hi, keys)
	}
}

// Partitions own all groups, each one once, and evenly.
func TestGroupRanges(t *testing.T) {
	t.Parallel()
	for _, groups := range []int{1, 2, 7, 128, 1000, 65536} {
		for _, partitions := range []int{1, 2, 3, 5, 7, 64, 127, 128, 999, 1000} {
			if partitions > groups {
				continue
			}
			next := 0
			for p := range partitions {
				from, to := GroupRange(p, partitions, groups)
				if from != next || to < from+groups/partitions || to > from+groups/partitions+1 {
					t.Fatalf("partition %d of %d owns [%d, %d) of %d, after %d", p, partitions, from, to, groups, next)
				}
				for g := from; g < to; g++ {
					if got := PartitionOf(uint16(g), partitions, groups); got != p {
						t.Fatalf("group %d of %d is of partition %d of %d, want %d", g, groups, got, partitions, p)
					}
				}
				next = to
			}
			if next != groups {
				t.Fatalf("%d partitions own %d of %d groups", partitions, next, groups)
			}
		}
	}
}

func TestKeysGolden(t *testing.T) {
	t.Parallel()
	key := []byte("K")
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"value", AppendID(AppendPrefix(nil, 1, KindValue, 0x0203, key), 4), "01760203" + "4b" + "0004"},
		{"element", AppendSeq(AppendID(AppendPrefix(nil, 1, KindElement, 0x0203, key), 4), 5), "01650203" + "4b" + "0004" + "0000000000000005"},
		{"raw timer", AppendInstant(AppendPrefix(nil, 1, KindRawTimer, 0x0203, key), 6), "01720203" + "4b" + "8000000000000006"},
		{"before 1970", AppendInstant(nil, -1), "7fffffffffffffff"},
		{"time index", AppendTimeIndex(nil, 1, 0x0203, 6, key, 7), "01740203" + "8000000000000006" + "4b" + "0007"},
		{"mark", AppliedKey(), "61"},
	}
	for _, test := range tests {
		if got := hex.EncodeToString(test.got); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// B-23: bytes order as time, from the first instant to the last.
func TestInstantOrder(t *testing.T) {
	t.Parallel()
	instants := []int64{math.MinInt64, -1 << 40, -256, -1, 0, 1, 255, 256, 1 << 40, math.MaxInt64}
	for i, at := range instants {
		b := AppendInstant(nil, at)
		if Instant(b) != at {
			t.Errorf("%d came back as %d", at, Instant(b))
		}
		if i > 0 && bytes.Compare(AppendInstant(nil, instants[i-1]), b) >= 0 {
			t.Errorf("%d does not sort after %d", at, instants[i-1])
		}
	}
}

func TestSplitTimeIndex(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "k", "a longer key\x00\xff"} {
		b := AppendTimeIndex(nil, 9, 300, -5, []byte(key), 77)
		micros, got, timer, err := SplitTimeIndex(b)
		if micros != -5 || string(got) != key || timer != 77 || err != nil {
			t.Errorf("%q: %d, %q, %d, %v", key, micros, got, timer, err)
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 13), AppendPrefix(nil, 1, KindRawTimer, 2, make([]byte, 20))} {
		if _, _, _, err := SplitTimeIndex(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: %v, want ErrCorrupt", bad, err)
		}
	}
}

// PrefixEnd is above all keys with the prefix and above no other key.
func TestPrefixEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ prefix, want string }{
		{"a", "b"}, {"a\xff", "b"}, {"a\xff\xff", "b"}, {"a\x00", "a\x01"}, {"\xfe\xff", "\xff"},
	} {
		if got := PrefixEnd(nil, []byte(test.prefix)); string(got) != test.want {
			t.Errorf("%q: got %q, want %q", test.prefix, got, test.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = []byte{0, 1, 0xfe, 0xff}[r.IntN(4)]
		}
		return b
	}
	for range 10_000 {
		prefix := append([]byte{byte(r.IntN(255))}, random(r.IntN(4))...)
		end := PrefixEnd([]byte("dst"), prefix)[3:]
		key := append([]byte{byte(r.IntN(256))}, random(r.IntN(6))...)
		inRange := bytes.Compare(prefix, key) <= 0 && bytes.Compare(key, end) < 0
		if inRange != bytes.HasPrefix(key, prefix) {
			t.Fatalf("prefix %x with end %x and key %x", prefix, end, key)
		}
	}
}
