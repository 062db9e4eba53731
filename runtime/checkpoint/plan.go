package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tws-go/tws/runtime/stream"
)

// Plan returns the plan of an epoch; ok is false if it has none. A damaged plan
// of an undecided epoch is dropped with a warning, as if it had never been made:
// nothing was committed by it.
func (f *Flow) Plan(epoch int64) (p Plan, ok bool, err error) {
	if err := checkEpoch(epoch); err != nil {
		return p, false, err
	}
	if err := f.enter(); err != nil {
		return p, false, err
	}
	defer f.mu.Unlock()
	path := f.planPath(epoch)
	ok, err = readExisting(path, kindPlan, &p)
	if err == nil && ok && p.Epoch != epoch {
		err = corrupt(path, "it is the plan of epoch %d", p.Epoch)
	}
	if err == nil {
		return p, ok, nil
	}
	if epoch <= f.last || !errors.Is(err, ErrCorrupt) {
		return Plan{}, false, err
	}
	f.c.log.Warn("damaged plan of an undecided epoch dropped; the epoch is planned anew",
		"file", path, "epoch", epoch, "cause", err)
	if err := f.discardPlan(epoch); err != nil {
		return Plan{}, false, err
	}
	return Plan{}, false, f.c.syncDir(f.path("plans"))
}

// WritePlan makes the plan of an undecided epoch durable. There must be none.
func (f *Flow) WritePlan(p Plan) error {
	if err := checkPlan(p); err != nil {
		return err
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if p.Epoch <= f.last {
		return fmt.Errorf("checkpoint: plan of epoch %d: epoch %d is decided", p.Epoch, f.last)
	}
	if err := f.c.createJSON(f.planPath(p.Epoch), kindPlan, p); err != nil {
		return err
	}
	f.files.add(kindPlan, p.Epoch, relPlan(p.Epoch))
	return nil
}

// DiscardPlansAfter removes the plans of the epochs after the given one, which
// must be the last decided epoch or a later one. Attempt numbers that were used
// under them stay used.
func (f *Flow) DiscardPlansAfter(epoch int64) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if epoch < f.last {
		return fmt.Errorf("checkpoint: discard plans after epoch %d: epoch %d is decided", epoch, f.last)
	}
	removed := false
	// From the end, so that a crash leaves no gap.
	for _, e := range slices.Backward(f.files.epochs(kindPlan)) {
		if e <= epoch {
			break
		}
		if err := f.discardPlan(e); err != nil {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return f.c.syncDir(f.path("plans"))
}

// discardPlan removes the plan of an undecided epoch. The plan may be the only
// trace of a first attempt, so the attempt gets a record of its own before.
func (f *Flow) discardPlan(epoch int64) error {
	if n := f.tried[epoch]; n > 0 && !slices.Contains(f.files[kindAttempt][epoch], relAttempt(epoch, n)) {
		if err := f.writeAttempt(epoch, n); err != nil {
			return err
		}
	}
	delete(f.running, epoch)
	if err := os.Remove(f.planPath(epoch)); err != nil {
		return fmt.Errorf("checkpoint: discard plan: %w", err)
	}
	delete(f.files[kindPlan], epoch)
	return nil
}

func (f *Flow) planPath(epoch int64) string { return f.path(relPlan(epoch)) }

func relPlan(epoch int64) string { return "plans/" + epochName(epoch) }

// Ends returns the ends of the available-now run that is under way; ok is false
// if none is.
func (f *Flow) Ends() (e Ends, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path("ends")
	ok, err = readExisting(path, kindEnds, &e)
	if errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w; or delete this file, so that the run reads to where its sources end now", err)
	}
	return e, ok, err
}

// WriteEnds makes the ends of an available-now run durable. There must be none.
func (f *Flow) WriteEnds(e Ends) error {
	for _, s := range e.Sources {
		if err := checkPosition(s.Name, s.End); err != nil {
			return err
		}
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	return f.c.createJSON(f.path("ends"), kindEnds, e)
}

// ClearEnds removes the ends, if there are any: the run has read to them.
func (f *Flow) ClearEnds() error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	err := os.Remove(f.path("ends"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checkpoint: clear ends: %w", err)
	}
	return f.c.syncDir(f.dir)
}

func checkPlan(p Plan) error {
	if err := checkEpoch(p.Epoch); err != nil {
		return err
	}
	for _, s := range p.Sources {
		if err := errors.Join(checkPosition(s.Name, s.From), checkPosition(s.Name, s.To)); err != nil {
			return err
		}
	}
	return nil
}

// checkPosition refuses positions that would not come back byte for byte, on
// which their equality rests.
func checkPosition(source string, p stream.Position) error {
	if p == nil {
		return nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, p); err != nil {
		return fmt.Errorf("checkpoint: position %.80q of source %s is not JSON: %w", p, source, err)
	}
	if !bytes.Equal(b.Bytes(), p) {
		return fmt.Errorf("checkpoint: position %.80q of source %s has white space: positions are compact JSON", p, source)
	}
	if bytes.Equal(p, []byte("null")) {
		return fmt.Errorf("checkpoint: position of source %s is the JSON null: the start is the nil position", source)
	}
	return nil
}
