package checkpoint

import (
	"errors"
	"fmt"
)

// WritePrepared makes durable what the attempt under way is about to decide, for a
// sink whose own commit is the decision. If the process ends before Decide, the
// next one finds it with [Flow.Prepared] and asks the sink.
func (f *Flow) WritePrepared(d Decision) error {
	if err := checkPlan(d.Plan); err != nil {
		return err
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if err := errors.Join(f.checkDecision(d), f.checkRunning(d.Epoch, d.Attempt)); err != nil {
		return err
	}
	rel := relPrepared(d.Epoch, d.Attempt)
	if err := f.c.createJSON(f.path(rel), kindPrepared, d); err != nil {
		return err
	}
	f.files.add(kindPrepared, d.Epoch, rel)
	return nil
}

// Prepared returns what the newest attempt at the first undecided epoch was about
// to decide; ok is false if there is nothing. An attempt begins only when the one
// before is settled, so older ones are of no interest. A damaged record is an
// error that matches [ErrCorrupt]: the epoch may be committed.
func (f *Flow) Prepared() (d Decision, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	epoch, newest := f.last+1, 0
	for _, rel := range f.files[kindPrepared][epoch] {
		if _, n, ok := parseAttempt(rel[len("prepared/"):]); ok {
			newest = max(newest, n)
		}
	}
	if newest == 0 {
		return d, false, nil
	}
	path := f.path(relPrepared(epoch, newest))
	if err := readJSON(path, kindPrepared, &d); err != nil {
		if errors.Is(err, ErrCorrupt) {
			err = fmt.Errorf("%w; it says what epoch %d was about to commit: restore it from a copy, or start over with a fresh checkpoint", err, epoch)
		}
		return Decision{}, false, err
	}
	if d.Epoch != epoch || d.Attempt != newest || d.Plan.Epoch != epoch {
		return Decision{}, false, corrupt(path, "it is of epoch %d, attempt %d", d.Epoch, d.Attempt)
	}
	return d, true, nil
}

// Adopt makes a prepared decision of an earlier process the epoch's decision: its
// sink has committed it.
func (f *Flow) Adopt(d Decision) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if err := f.checkDecision(d); err != nil {
		return err
	}
	return f.decide(d)
}

func relPrepared(epoch int64, n int) string { return "prepared/" + attemptName(epoch, n) }
