package checkpoint

import (
	"errors"
	"fmt"
	"github.com/tws-go/tws/runtime/stream"
	"io/fs"
	"os"
	"path/filepath"
)

// Manifest identifies the decision: "xxh3:" and 16 hex digits, the checksum of
// its canonical JSON, which is the record's payload without white space. It is
// "" for a decision that is not JSON, which Decide refuses.
func (d Decision) Manifest() string {
	b, err := encodeJSON(d, "")
	if err != nil {
		return ""
	}
	return sum(b)
}

// Decide commits an epoch: the one after the last decided epoch, by the attempt
// that is under way. The caller does not change d afterwards.
//
// An error that matches [ErrDecided] means that the epoch has a decision
// already. After any other error the epoch is undecided, or it is unknown
// whether it is, and then neither Decide nor StartAttempt do anything more until
// the checkpoint has been opened anew.
func (f *Flow) Decide(d Decision) error {
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
	return f.decide(d)
}

// decide writes the record of a decision that was checked.
func (f *Flow) decide(d Decision) error {
	rel := relDecision(d.Epoch)
	if err := f.c.createJSON(f.path(rel), kindDecision, d); err != nil {
		return f.settle(d.Epoch, err)
	}
	f.files.add(kindDecision, d.Epoch, rel)
	f.first = max(f.first, 1)
	f.last, f.lastDecision = d.Epoch, &d
	delete(f.tried, d.Epoch)
	delete(f.running, d.Epoch)
	return nil
}

// checkDecision makes sure that d is the decision to make now.
func (f *Flow) checkDecision(d Decision) error {
	if f.unsettled != nil {
		return f.unsettled
	}
	if d.Epoch <= f.last {
		return fmt.Errorf("%w: epoch %d, the last one is %d", ErrDecided, d.Epoch, f.last)
	}
	if d.Epoch != f.last+1 {
		return fmt.Errorf("checkpoint: decide epoch %d: the last decided epoch is %d, epochs are decided one by one", d.Epoch, f.last)
	}
	if d.Plan.Epoch != d.Epoch {
		return fmt.Errorf("checkpoint: decide epoch %d: its plan is for epoch %d", d.Epoch, d.Plan.Epoch)
	}
	for i, a := range d.Changelogs {
		if a == (stream.Artefact{}) { // the partition did not change
			continue
		}
		if want := filepath.ToSlash(changelogPath(d.Epoch, d.Attempt, i)); a.Path != want {
			return fmt.Errorf("checkpoint: decide epoch %d: changelog %d is %s, want %s", d.Epoch, i, a.Path, want)
		}
	}
	return nil
}

// settle finds out what a decision that failed has come to.
func (f *Flow) settle(epoch int64, cause error) error {
	if errors.Is(cause, fs.ErrExist) {
		return fmt.Errorf("%w: epoch %d, by another process: %w", ErrDecided, epoch, cause)
	}
	if _, err := os.Lstat(f.path(relDecision(epoch))); errors.Is(err, fs.ErrNotExist) {
		return cause // it is not there and never was
	}
	f.unsettled = fmt.Errorf("checkpoint: it is unknown whether epoch %d is decided: open the checkpoint again to go on: %w", epoch, cause)
	return f.unsettled
}

func relDecision(epoch int64) string { return "decisions/" + epochName(epoch) }

// Decision returns the decision of an epoch; ok is false if it has none, or none
// any more. If there is one, then so are those of all later epochs up to the
// last, and the changelogs that they list.
func (f *Flow) Decision(epoch int64) (d Decision, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == 0 || epoch < f.first || epoch > f.last {
		return d, false, nil
	}
	if epoch == f.last && f.lastDecision != nil {
		return *f.lastDecision, true, nil
	}
	return f.readDecision(epoch)
}

// LastDecision returns the newest decision; ok is false if there is none. The
// caller does not change it.
func (f *Flow) LastDecision() (d Decision, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == 0 {
		return d, false, nil
	}
	if f.lastDecision == nil {
		d, _, err := f.readDecision(f.last)
		if err != nil {
			return Decision{}, false, err
		}
		f.lastDecision = &d
	}
	return *f.lastDecision, true, nil
}

func (f *Flow) readDecision(epoch int64) (d Decision, ok bool, err error) {
	path := f.path(relDecision(epoch))
	ok, err = readExisting(path, kindDecision, &d)
	switch {
	case err != nil:
		return Decision{}, false, err
	case !ok && f.files.has(kindDecision, epoch):
		return d, false, corrupt(path, "the file is missing")
	case ok && (d.Epoch != epoch || d.Plan.Epoch != epoch):
		return Decision{}, false, corrupt(path, "it is the decision of epoch %d", d.Epoch)
	}
	return d, ok, nil
}
