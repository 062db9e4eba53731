package dialogue_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tws-go/tws/golden/dialogue"
	"github.com/tws-go/tws/runtime/epoch"
)

// eventScene is rows in and out of time, timers ahead of and behind the watermark,
// and callbacks that set others.
var eventScene = []string{
	"a: at 12s alarm set 20s", "b: at 15s timer set 1s 8s 100s", "a: at 14s plan alarm timer set 0s",
	"b: at 30s watermark", "c: at 3s count add 1", "c: at 31s plan timer alarm set 35s", "c: at 20s timer set 21s 22s",
	"d: at 2s count add 1", "a: at 45s alarm set 50s", "c: at 60s watermark", "d: at 49s count add 1", "d: at 50s count add 1",
}

// playEvents plays the scene, two rows an epoch; it stops at the given visit of a
// point, as a crash would, and goes on after it.
func playEvents(t *testing.T, store string, point epoch.Point, visit int) (answer string, late int64) {
	t.Helper()
	st := newStage(t, setting{store: store, partitions: 2})
	st.flow = dialogue.EventFlow
	maps.Copy(st.options.Conf, map[string]string{"tws.max-rows": "2", "tws.retain-epochs": "2", "tws.snapshot-epochs": "3"})
	visits := 0
	st.options.AtPoint = func(p epoch.Point) error {
		if p != point {
			return nil
		}
		if visits++; visits == visit {
			return errCrash
		}
		return nil
	}
	if err := st.give(eventScene); err != nil {
		t.Fatal(err)
	}
	err := st.run()
	if errors.Is(err, errCrash) {
		err = st.run()
	}
	if err != nil {
		t.Fatalf("%s, visit %d: %v", point, visit, err)
	}
	seen := map[int64]epoch.Stats{}
	for _, e := range st.epochs {
		seen[e.Epoch] = e
	}
	for _, r := range st.newRows() {
		answer += fmt.Sprintf("epoch %d, %s: %s\n", r.Epoch, r.Row.Key, r.Row.Text)
	}
	for _, e := range seen {
		late += e.Late
	}
	return answer, late
}

// S-59 B-31: a crash at any point of any epoch changes nothing: the epoch that is
// tried again has the watermark it had, drops the rows it dropped, and every timer
// fires once.
func TestEventCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	want, late := playEvents(t, "mem", "", 0)
	if late != 2 || len(want) < 300 {
		t.Fatalf("%d rows late and this output, the scene tests nothing:\n%s", late, want)
	}
	for _, store := range slices.Sorted(maps.Keys(stores)) {
		for _, point := range epoch.Points() {
			t.Run(fmt.Sprintf("%s/%s", store, point), func(t *testing.T) {
				t.Parallel()
				for _, visit := range []int{1, 2, 5} {
					if got, _ := playEvents(t, store, point, visit); got != want {
						t.Errorf("visit %d:\n got %s\nwant %s", visit, got, want)
					}
				}
			})
		}
	}
}
