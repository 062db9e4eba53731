package checkpoint

import (
	"errors"
	"fmt"
	"os"
)

// Choice is how a person wants a flow to go on whose sink has lost its record of
// it. It stands until the sink has a record again.
type Choice struct {
	// Epoch is the first undecided epoch at the time. Attempt is the attempt at it
	// that was in doubt, 0 if none was.
	Epoch   int64 `json:"epoch"`
	Attempt int   `json:"attempt"`
	// InDoubt is what was chosen.
	InDoubt string `json:"in_doubt"`
}

// Choice returns the choice that stands; ok is false if there is none.
func (f *Flow) Choice() (c Choice, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ok, err = readExisting(f.path(choiceName), kindChoice, &c)
	if errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w; or delete this file, and choose once more", err)
	}
	return c, ok, err
}

// PutChoice makes a choice durable. One that stands is replaced; if the process ends
// in between, there is none.
func (f *Flow) PutChoice(c Choice) error {
	if err := checkEpoch(c.Epoch); err != nil {
		return err
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if err := f.clearChoice(); err != nil {
		return err
	}
	return f.c.createJSON(f.path(choiceName), kindChoice, c)
}

// ClearChoice removes the choice, if there is one.
func (f *Flow) ClearChoice() error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	return f.clearChoice()
}

func (f *Flow) clearChoice() error {
	err := os.Remove(f.path(choiceName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checkpoint: clear choice: %w", err)
	}
	return f.c.syncDir(f.dir)
}

const choiceName = "choice"
