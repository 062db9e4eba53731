package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What was prepared for the first undecided epoch is found by the next process,
// the newest attempt alone; it can be adopted without an attempt under way, and it
// is gone once its epoch is decided and Retain has run.
func TestPrepared(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 2)
	must(t, f.WritePlan(samplePlan(3)))
	var last Decision
	for range 2 {
		n, err := f.StartAttempt(3)
		must(t, err)
		last = Decision{Epoch: 3, Attempt: n, Plan: samplePlan(3), CommittedAs: "uid/flow/0"}
		must(t, f.WritePrepared(last))
	}
	f = reopen(t, f)
	got, ok, err := f.Prepared()
	must(t, err)
	if diff := cmp.Diff(last, got); !ok || diff != "" {
		t.Fatalf("prepared (-want +got):\n%s", diff)
	}
	must(t, f.Adopt(got))
	if d, ok, err := f.LastDecision(); err != nil || !ok || d.Epoch != 3 || d.Attempt != 2 {
		t.Errorf("last decision: %v %v %v", d, ok, err)
	}
	must(t, f.Retain(100))
	if n := len(f.files[kindPrepared]); n != 0 {
		t.Errorf("%d prepared records left", n)
	}
	if _, ok, err := reopen(t, f).Prepared(); ok || err != nil {
		t.Errorf("prepared after the decision: %v %v", ok, err)
	}
}

// Only the attempt that is under way may prepare, only for the next epoch, and
// only the next epoch can be adopted.
func TestPreparedRefused(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 2)
	must(t, f.WritePlan(samplePlan(3)))
	wantRefused(t, f.WritePrepared(Decision{Epoch: 3, Attempt: 1, Plan: samplePlan(3)}), "not under way")
	n, err := f.StartAttempt(3)
	must(t, err)
	wantRefused(t, f.WritePrepared(Decision{Epoch: 3, Attempt: n + 1, Plan: samplePlan(3)}), "not under way")
	wantErr(t, f.Adopt(Decision{Epoch: 2, Attempt: 1, Plan: samplePlan(2)}), ErrDecided)
	wantRefused(t, f.Adopt(Decision{Epoch: 4, Attempt: 1, Plan: samplePlan(4)}), "one by one")
	if _, ok, err := f.Prepared(); ok || err != nil {
		t.Errorf("prepared: %v %v", ok, err)
	}
}
