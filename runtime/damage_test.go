package tws_test

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/tws-go/tws/codec"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
)

// useState writes all states at the row "write" and uses one at its name.
func useState(p *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
	for row := range rows {
		var err error
		switch row.Text {
		case "write":
			err = errors.Join(p.Value.Update("v"), p.List.Put([]string{"x", "y"}), p.Map.Update("k", "v"))
		case "value get":
			_, _, err = p.Value.Get()
		case "value exists":
			_, err = p.Value.Exists()
		case "value clear":
			err = p.Value.Clear()
		case "list all":
			err = drain(p.List.All())
		case "list len":
			_, err = p.List.Len()
		case "list append":
			err = p.List.Append("z")
		case "list put":
			err = p.List.Put([]string{"z"})
		case "map get":
			_, _, err = p.Map.Get("k")
		case "map contains":
			_, err = p.Map.Contains("k")
		case "map all":
			err = drain2(p.Map.All())
		case "map keys":
			err = drain(p.Map.Keys())
		case "map values":
			err = drain(p.Map.Values())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry is an entry of the store of the probe.
type entry struct {
	family store.Family
	kind   byte
	id     uint16
	suffix []byte
}

func (e entry) key(grouping string) []byte {
	key := codec.AppendKeyString(nil, grouping)
	k := store.AppendPrefix(nil, 0, e.kind, store.KeyGroup(key, 256), key)
	return append(store.AppendID(k, e.id), e.suffix...)
}

// damage puts an entry into the store of a closed pipeline, as if it had been
// written like that.
func (b *bench) damage(e entry, grouping string, value []byte) {
	b.t.Helper()
	engine := mem.New()
	s, err := engine.Open(filepath.Join(b.options.Checkpoint, "flows", "flow", "store", "0"))
	if err != nil {
		b.t.Fatal(err)
	}
	mark, _, err := s.Applied()
	if err != nil {
		b.t.Fatal(err)
	}
	var batch store.Batch
	batch.Reset(mark)
	batch.Put(e.family, e.key(grouping), value)
	if err := errors.Join(s.Apply(batch.Bytes()), s.Close(), engine.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// Damaged bytes of every kind of state are found by every use that reads them,
// and the error names the variable and the key.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	value := entry{store.Point, store.KindValue, 1, nil}
	head := entry{store.Point, store.KindListHead, 2, nil}
	element := entry{store.Ordered, store.KindElement, 2, store.AppendSeq(nil, 1)}
	mapped := entry{store.Ordered, store.KindElement, 3, codec.AppendKeyString(nil, "k")}
	badKey := entry{store.Ordered, store.KindElement, 3, []byte{0xff}}
	text := codec.AppendString(codec.AppendHeader(nil, codec.Header{Version: 1}), "v")
	number := codec.AppendInt(codec.AppendHeader(nil, codec.Header{Version: 1}), 7)
	newer := codec.AppendString(codec.AppendHeader(nil, codec.Header{Version: 2}), "v")
	backwards := codec.AppendHeader(nil, codec.Header{Version: 1})
	backwards = codec.AppendUint(codec.AppendUint(codec.AppendUint(codec.AppendArrayHeader(backwards, 3), 5), 2), 1)
	for _, test := range []struct {
		name  string
		at    entry
		bytes []byte
		state string
		uses  []string
		words []string
	}{
		{"empty", value, nil, "theValue", []string{"value get", "value exists", "value clear"}, nil},
		{"another type", value, number, "theValue", []string{"value get", "value exists"}, nil},
		{"cut short", value, text[:len(text)-1], "theValue", []string{"value get"}, nil},
		{"too long", value, append(text[:len(text):len(text)], 0), "theValue", []string{"value get"}, nil},
		{"newer version", value, newer, "theValue", []string{"value get"}, []string{"version 2", "up to 1", "newer"}},
		{"unknown flags", value, []byte{0x80, 1}, "theValue", []string{"value get"}, []string{"flags"}},
		{"head cut short", head, []byte{0, 1}, "theList", []string{"list all", "list len", "list append", "list put"}, nil},
		{"head of another type", head, text, "theList", []string{"list all", "list append"}, nil},
		{"head backwards", head, backwards, "theList", []string{"list all", "list append"}, []string{"corrupt"}},
		{"element", element, number, "theList", []string{"list all"}, nil},
		{"element empty", element, nil, "theList", []string{"list all"}, nil},
		{"element newer", element, newer, "theList", []string{"list all"}, []string{"version 2"}},
		{"entry", mapped, number, "theMap", []string{"map get", "map all", "map values"}, nil},
		{"entry empty", mapped, nil, "theMap", []string{"map get", "map contains", "map all", "map keys"}, nil},
		{"map key", badKey, text, "theMap", []string{"map all", "map keys"}, nil},
	} {
		for _, use := range test.uses {
			t.Run(fmt.Sprintf("%s: %s", test.name, use), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, newProbe(useState))
				b.options.Conf["tws.partitions"] = "1"
				b.row("a", "write").mustRun()
				b.damage(test.at, "a", test.bytes)
				err := b.row("a", use).fails(append(test.words, "tws: state "+test.state, "probe.HandleInputRows, key a")...)
				var se *tws.StateError
				if !errors.As(err, &se) || se.State != test.state {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
