package storetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tws-go/tws/runtime/store"
)

func testReopen(h *harness) {
	h.open()
	for epoch := range 5 {
		h.apply(put(store.Point, "1v", fmt.Sprint(epoch)), put(store.Ordered, fmt.Sprint("1e", epoch), "x"))
		h.reopen()
		h.check()
	}
}

// B-89: fifty times, with empty values in the second family.
func testReopenOften(h *harness) {
	h.open()
	h.apply(put(store.Ordered, "1e-empty", ""), put(store.Point, "1v-empty", ""))
	for i := range 50 {
		h.reopen()
		h.check()
		if i%10 == 0 {
			h.apply(put(store.Ordered, fmt.Sprint("1e", i), ""))
		}
	}
}

func testOpenTwice(h *harness) {
	h.open()
	if s, err := h.engine.Open(h.dir); err == nil {
		h.Error("a second Open of an open store succeeds")
		h.must(s.Close())
	} else if errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), h.dir) {
		h.Errorf("the error of a second Open does not say what is wrong: %v", err)
	}
	h.apply(put(store.Point, "1v", "still works"))
	h.check()
	h.reopen()
	h.check()
}

// killVariable tells a child process that it is the one to be killed, and its
// directory.
const killVariable = "TWS_STORETEST_KILL_DIR"

// killBatches is how many batches the child applies. It closes and opens the store
// after a quarter of them and takes a snapshot after half.
const killBatches = 160

// testKill has a child process apply batches and kill itself without any
// clean-up. What is in its directory then is the content of some whole mark.
func testKill(h *harness) {
	if dir := os.Getenv(killVariable); dir != "" {
		killSelf(h, dir)
	}
	binary, err := os.Executable()
	h.must(err)
	child := exec.Command(binary, "-test.run=^"+strings.ReplaceAll(h.Name(), "/", "$/^")+"$")
	child.Env = append(os.Environ(), killVariable+"="+h.dir)
	out, err := child.CombinedOutput()
	if err == nil || strings.Contains(string(out), "FAIL") {
		h.Fatalf("the child was not killed: %v\n%s", err, out)
	}
	h.open()
	mark, _, err := h.store.Applied()
	h.must(err)
	h.model = killModel(mark.Epoch, nil)
	h.check()
	// The store goes on from there, and its last snapshot is whole.
	for range 3 {
		h.apply(put(store.Point, "1v", "after"), put(store.Ordered, "1e", "after"))
	}
	h.check()
	h.restore("snapshot")
	h.model = killModel(killBatches/2, nil)
	h.check()
}

// killSelf is the child.
func killSelf(h *harness, dir string) {
	h.dir = dir
	h.open()
	h.model = killModel(killBatches, func(m *model, data []byte) {
		if m.mark.Epoch == killBatches/4 {
			h.reopen() // something durable
		}
		h.must(h.store.Apply(data))
		if m.mark.Epoch == killBatches/2 {
			h.must(h.store.Snapshot(filepath.Join(filepath.Dir(dir), "snapshot")))
		}
	})
	self, err := os.FindProcess(os.Getpid())
	h.must(err)
	h.must(self.Kill())
	select {}
}

// killModel applies the first batches of a fixed history.
func killModel(batches int64, each func(m *model, data []byte)) *model {
	m, r := newModel(), rand.New(rand.NewPCG(7, 7))
	for range batches {
		changes := randomChanges(r, 50)
		// Large values, so that a store that flushes when it has much to flush
		// does so.
		for i := range changes {
			if !changes[i].del {
				changes[i].value += strings.Repeat("x", r.IntN(8<<10))
			}
		}
		data := m.apply(changes)
		if each != nil {
			each(m, data)
		}
	}
	return m
}

func testSnapshot(h *harness) {
	h.open()
	h.must(h.store.Snapshot(h.path("empty")))
	h.apply(put(store.Point, "1v", "one"), put(store.Ordered, "1e", "one"), put(store.Ordered, "1f", ""))
	h.must(h.store.Snapshot(h.path("one")))
	one := h.model.clone()
	h.apply(put(store.Point, "1v", "two"), del(store.Ordered, "1e"))
	h.must(h.store.Snapshot(h.path("two")))
	h.must(h.store.Snapshot(h.path("deep/er/two"))) // parents are made
	two := h.model.clone()
	h.check()
	for _, step := range []struct {
		name string
		want *model
	}{{"one", one}, {"two", two}, {"empty", newModel()}, {"deep/er/two", two}, {"one", one}} {
		h.restore(step.name)
		h.model = step.want.clone()
		h.check()
	}
	// A copied snapshot works as well.
	h.must(os.CopyFS(h.path("copy"), os.DirFS(h.path("two"))))
	h.restore("copy")
	h.model = two
	h.check()
}

// B-33: a snapshot, what is restored from it and the store it was taken of go
// separate ways, also where they share files.
func testSnapshotIsApart(h *harness) {
	h.open()
	h.apply(put(store.Point, "1v", "base"), put(store.Ordered, "1e", "base"))
	h.must(h.store.Snapshot(h.path("base")))
	base := h.model.clone()
	models := map[string]*model{}
	for _, name := range []string{"left", "right"} {
		m := base.clone()
		h.must(h.engine.Restore(h.path("base"), h.path(name)))
		s, err := h.engine.Open(h.path(name))
		h.must(err)
		for i := range 20 {
			h.must(s.Apply(m.apply([]change{put(store.Point, "1v", name), put(store.Ordered, fmt.Sprint("1e", name, i), name)})))
			if i%5 == 0 {
				h.must(s.Snapshot(h.path(fmt.Sprint(name, i))))
			}
		}
		h.must(s.Close())
		models[name] = m
	}
	h.apply(put(store.Point, "1v", "original"), del(store.Ordered, "1e"))
	h.check()
	for name, m := range models {
		s, err := h.engine.Open(h.path(name))
		h.must(err)
		h.must(m.compare(s))
		h.must(s.Close())
	}
	h.restore("base")
	h.model = base
	h.check()
}

func testSnapshotInTheWay(h *harness) {
	h.open()
	h.apply(put(store.Point, "1v", "one"))
	h.must(h.store.Snapshot(h.path("snapshot")))
	if err := h.store.Snapshot(h.path("snapshot")); !errors.Is(err, fs.ErrExist) {
		h.Errorf("a snapshot over another: %v, want an error that matches fs.ErrExist", err)
	}
	if err := h.engine.Restore(h.path("snapshot"), h.dir); !errors.Is(err, fs.ErrExist) {
		h.Errorf("restore over a store: %v, want an error that matches fs.ErrExist", err)
	}
	if err := h.engine.Restore(h.path("missing"), h.path("new")); err == nil {
		h.Error("restored a snapshot that is not there")
	}
	if _, err := os.Stat(h.path("new")); !errors.Is(err, fs.ErrNotExist) {
		h.Errorf("a failed restore left its directory: %v", err)
	}
	h.check()
	h.restore("snapshot")
	h.check()
}

// testDamagedSnapshot damages each file of a snapshot in several ways. What is
// restored from it is an error, now or when it is read, or just what was
// snapshotted, where the damage is in a place that nobody reads.
func testDamagedSnapshot(h *harness) {
	h.open()
	r := rand.New(rand.NewPCG(3, 3))
	for range 3 {
		h.apply(randomChanges(r, 400)...)
	}
	h.must(h.store.Snapshot(h.path("good")))
	detected := 0
	h.eachDamage(h.path("good"), func(name, dir string) {
		work := dir + "-restored"
		err := h.engine.Restore(dir, work)
		if err == nil {
			err = h.readAll(work)
		}
		if h.judge(name, err) {
			detected++
		}
	})
	if detected < 3 {
		h.Errorf("only %d kinds of damage were detected", detected)
	}
}

// testDamagedStore does the same to a store that was closed.
func testDamagedStore(h *harness) {
	h.open()
	h.apply(randomChanges(rand.New(rand.NewPCG(4, 4)), 400)...)
	h.close()
	detected := 0
	h.eachDamage(h.dir, func(name, dir string) {
		if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
			// Where its only file was, there is a new store that claims nothing.
			whole := h.model
			h.model = newModel()
			h.must(h.readAll(dir))
			h.model = whole
			return
		}
		if h.judge(name, h.readAll(dir)) {
			detected++
		}
	})
	if detected < 3 {
		h.Errorf("only %d kinds of damage were detected", detected)
	}
}

// readAll opens the store in dir and compares it with the model.
func (h *harness) readAll(dir string) error {
	s, err := h.engine.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(h.model.compare(s), s.Close())
}

// judge tells whether err reports damage, and fails the test if it is anything
// else than that or nil.
func (h *harness) judge(name string, err error) bool {
	h.Helper()
	if err == nil {
		return false
	}
	if !errors.Is(err, store.ErrCorrupt) {
		h.Errorf("%s: %v; want an error that matches ErrCorrupt", name, err)
	}
	return true
}

// eachDamage calls do with a copy of dir for each file and each way to damage it.
func (h *harness) eachDamage(dir string, do func(name, copy string)) {
	h.Helper()
	entries, err := os.ReadDir(dir)
	h.must(err)
	n := 0
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		h.must(err)
		for way, damaged := range damages(data) {
			n++
			copied := h.path(fmt.Sprint("damaged", n))
			h.must(copyTree(dir, copied))
			file := filepath.Join(copied, e.Name())
			h.must(os.Remove(file))
			if damaged != nil {
				h.must(os.WriteFile(file, damaged, 0o666))
			}
			do(e.Name()+" "+way, copied)
		}
	}
}

// damages returns damaged forms of a file's bytes; nil stands for no file.
func damages(data []byte) map[string][]byte {
	out := map[string][]byte{"missing": nil}
	if len(data) == 0 {
		return out
	}
	out["emptied"] = []byte{}
	out["halved"] = data[:len(data)/2]
	out["shortened"] = data[:len(data)-1]
	for _, at := range []int{0, len(data) / 3, len(data) / 2, len(data) - 1} {
		flipped := append([]byte{}, data...)
		flipped[at] ^= 0x10
		out[fmt.Sprint("flipped at ", at)] = flipped
	}
	return out
}

// copyTree copies the files of a flat directory.
func copyTree(from, to string) error {
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		in, err := os.Open(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		out, err := os.Create(filepath.Join(to, e.Name()))
		if err == nil {
			_, err = io.Copy(out, in)
			err = errors.Join(err, out.Close())
		}
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}
