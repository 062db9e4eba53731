// Package storetest is the one suite of tests that every state store passes.
//
// It knows a store by its interface only. What a store holds is always compared
// as a whole with a model, a map per family, so a test also notices what it was
// not looking for.
package storetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tws-go/tws/runtime/store"
)

// Run runs the suite. open makes an engine of its own for each test that asks;
// the suite closes it.
//
// The caller must be a top-level test function that does nothing else than to
// call Run: the suite starts the test binary once more with the name of one of
// its subtests and kills it there.
func Run(t *testing.T, open func(t *testing.T) store.Engine) {
	tests := []struct {
		name string
		run  func(h *harness)
	}{
		{"Empty", testEmpty},
		{"Batch", testBatch},
		{"LastRecordWins", testLastRecordWins},
		{"BadBatch", testBadBatch},
		{"EmptyValues", testEmptyValues},
		{"AwkwardKeys", testAwkwardKeys},
		{"MultiGet", testMultiGet},
		{"MultiGetStops", testMultiGetStops},
		{"Copies", testCopies},
		{"Scan", testScan},
		{"ScanBounds", testScanBounds},
		{"ScanNumericOrder", testScanNumericOrder},
		{"ScanSeesItsBeginning", testScanSeesItsBeginning},
		{"ScanConcurrent", testScanConcurrent},
		{"Reopen", testReopen},
		{"ReopenOften", testReopenOften},
		{"OpenTwice", testOpenTwice},
		{"Kill", testKill},
		{"Snapshot", testSnapshot},
		{"SnapshotIsApart", testSnapshotIsApart},
		{"SnapshotInTheWay", testSnapshotInTheWay},
		{"DamagedSnapshot", testDamagedSnapshot},
		{"DamagedStore", testDamagedStore},
		{"ExpiryNeverEarly", testExpiryNeverEarly},
		{"ExpiryEventually", testExpiryEventually},
		{"ExpiryInSnapshot", testExpiryInSnapshot},
		{"ExpiryOfOlderVersions", testExpiryOfOlderVersions},
		{"Closed", testClosed},
		{"CloseWithLiveScans", testCloseWithLiveScans},
		{"EngineClose", testEngineClose},
		{"Random", testRandom},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The child process that Kill starts runs that test alone.
			if test.name != "Kill" {
				t.Parallel()
			}
			test.run(newHarness(t, open))
		})
	}
}

// harness is an engine, a store of it that a test works on, and the model of
// what that store must hold.
type harness struct {
	*testing.T
	engine store.Engine
	root   string // for directories of the test
	dir    string // of the store
	store  store.Store
	model  *model
}

func newHarness(t *testing.T, open func(t *testing.T) store.Engine) *harness {
	h := &harness{T: t, engine: open(t), root: t.TempDir(), model: newModel()}
	h.dir = h.path("store")
	t.Cleanup(func() {
		if h.store != nil {
			if err := h.store.Close(); err != nil {
				t.Errorf("close store: %v", err)
			}
		}
		if err := h.engine.Close(); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	return h
}

func (h *harness) path(name string) string { return filepath.Join(h.root, name) }

// must ends the test on an error.
func (h *harness) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// open opens the store in h.dir.
func (h *harness) open() {
	h.Helper()
	s, err := h.engine.Open(h.dir)
	h.must(err)
	h.store = s
}

func (h *harness) close() {
	h.Helper()
	h.must(h.store.Close())
	h.store = nil
}

func (h *harness) reopen() {
	h.Helper()
	h.close()
	h.open()
}

// apply applies changes to the store and to the model.
func (h *harness) apply(changes ...change) {
	h.Helper()
	h.must(h.store.Apply(h.model.apply(changes)))
}

// check compares the whole store with the model.
func (h *harness) check() {
	h.Helper()
	h.must(h.model.compare(h.store))
}

// compact asks the store to drop what has expired, if it can be asked; a store
// that cannot must have dropped it once it was snapshotted and restored.
func (h *harness) compact() {
	h.Helper()
	if c, ok := h.store.(interface{ Compact() error }); ok {
		h.must(c.Compact())
		return
	}
	h.must(h.store.Snapshot(h.path("compact")))
	h.restore("compact")
}

// restore replaces the store by one that it restores from a snapshot.
func (h *harness) restore(snapshot string) {
	h.Helper()
	h.close()
	h.must(os.RemoveAll(h.dir))
	h.must(h.engine.Restore(h.path(snapshot), h.dir))
	h.open()
}
