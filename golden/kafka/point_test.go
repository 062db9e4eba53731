package kafka_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/epoch"

	tws "github.com/tws-go/tws/runtime"
)

var errCrash = errors.New("crash")

// commitPoints are the points from where an epoch's output is staged to where its
// state is applied.
func commitPoints() []epoch.Point {
	return slices.Concat([]epoch.Point{epoch.BeforeStage, epoch.AfterStage}, epoch.DecidingPoints(),
		[]epoch.Point{epoch.BeforeDecide, epoch.AfterDecide, epoch.BeforePublish, epoch.AfterPublish, epoch.BeforeApply, epoch.AfterApply})
}

// doubt is what the run after a crash must find out about an epoch.
func doubt(p epoch.Point) []string {
	switch p {
	case epoch.AfterPrepared, epoch.BeforeDeliver, epoch.AfterDeliver, epoch.BeforeCommit:
		return []string{"the epoch in doubt is not committed"}
	case epoch.AfterCommit, epoch.BeforeDecide:
		return []string{"the epoch in doubt is committed", "before it knew that an epoch was committed"}
	}
	return nil
}

// crashes are the ways in which an instance can fail its successor.
var crashes = []struct {
	name    string
	points  []epoch.Point
	timeout time.Duration // of transactions
	crash   func(t *testing.T, s *scene, point epoch.Point, visit int)
}{
	// The transaction is open, or committed with nobody who knows, when the next
	// instance starts.
	{"abandoned", commitPoints(), 0, func(t *testing.T, s *scene, point epoch.Point, visit int) {
		left := s.crash(t, point, visit)
		mustSay(t, s.finish(t, left, tws.Options{}).log.String(), doubt(point)...)
	}},
	// The broker has aborted the transaction by itself.
	{"timed out", []epoch.Point{epoch.AfterDeliver, epoch.BeforeCommit}, time.Second, func(t *testing.T, s *scene, point epoch.Point, visit int) {
		left := s.crash(t, point, visit)
		if s.undecided(t, s.topics.Counts, s.topics.Journal) == nil {
			t.Error("no transaction was open")
		}
		until(t, "the broker ends the transaction", func() error {
			return s.undecided(t, s.topics.Counts, s.topics.Journal)
		})
		mustSay(t, s.finish(t, left, tws.Options{}).log.String(), doubt(point)...)
	}},
	// The instance that was thought dead goes on when the next one has started.
	{"zombie", commitPoints(), 0, func(t *testing.T, s *scene, point epoch.Point, visit int) {
		z := s.zombie(t, point, visit)
		next, err := s.open(t, z.left, tws.Options{})
		if err != nil {
			t.Fatal(err)
		}
		z.mustBeFenced(t)
		if err := next.runner.Run(t.Context()); err != nil {
			t.Fatalf("the zombie disturbed the next instance: %v", err)
		}
		mustSay(t, next.log.String(), doubt(point)...)
	}},
	// It goes on when the next one has done all the work.
	{"late zombie", commitPoints(), 0, func(t *testing.T, s *scene, point epoch.Point, visit int) {
		z := s.zombie(t, point, visit)
		mustSay(t, s.finish(t, z.left, tws.Options{}).log.String(), doubt(point)...)
		s.exactlyOnce(t)
		z.mustBeFenced(t)
	}},
}

// crash runs the pipeline to a point and abandons it there: its client stays
// connected, its transaction open. It returns what the disk held.
func (s *scene) crash(t *testing.T, point epoch.Point, visit int) (left string) {
	t.Helper()
	folder := t.TempDir()
	_, err := s.run(t, folder, tws.Options{AtPoint: visits(point, visit, func() (err error) {
		if left, err = copyOf(t, folder); err != nil {
			return err
		}
		return errCrash
	})})
	if !errors.Is(err, errCrash) {
		t.Fatalf("the run did not stop at %s: %v", point, err)
	}
	return left
}

// zombie is an instance that stands still at a point.
type zombie struct {
	left   string // what the disk held
	resume chan struct{}
	ended  chan error
}

func (s *scene) zombie(t *testing.T, point epoch.Point, visit int) *zombie {
	t.Helper()
	z := &zombie{resume: make(chan struct{}), ended: make(chan error, 1)}
	folder, reached := t.TempDir(), make(chan error, 1)
	go func() {
		_, err := s.run(t, folder, tws.Options{AtPoint: visits(point, visit, func() (err error) {
			z.left, err = copyOf(t, folder)
			reached <- err
			<-z.resume
			return nil
		})})
		z.ended <- err
	}()
	select {
	case err := <-reached:
		if err != nil {
			t.Fatal(err)
		}
	case err := <-z.ended:
		t.Fatalf("the run did not come to %s: %v", point, err)
	}
	return z
}

// mustBeFenced lets the zombie go on and waits for it to be told.
func (z *zombie) mustBeFenced(t *testing.T) {
	t.Helper()
	close(z.resume)
	err := <-z.ended
	if err == nil {
		t.Fatal("the zombie ran to its end")
	}
	mustSay(t, err.Error(), "another instance of this flow", "has taken over", "two instances must not run on one checkpoint")
}

// crashAtEveryPoint crashes in every way at every point, in the first epoch and in
// a later one.
func (c *cluster) crashAtEveryPoint(t *testing.T) {
	for _, way := range crashes {
		for _, point := range way.points {
			for _, visit := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s/%s/epoch %d", way.name, point, visit), func(t *testing.T) {
					t.Parallel()
					s := c.scene(t, way.timeout)
					way.crash(t, s, point, visit)
					s.exactlyOnce(t)
				})
			}
		}
	}
}

// A crash at any point of the transactional commit loses and doubles nothing,
// whatever became of the transaction, and an instance that goes on although
// another has started is shut out. B-37, B-71, B-86
func TestCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	fake(t).crashAtEveryPoint(t)
}

// crashAgain crashes at random points, and the runs that follow as well, until one
// comes to its end.
func (c *cluster) crashAgain(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for n := range uint64(8) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, n))
			s := c.scene(t, 0)
			folder, crashes := t.TempDir(), 0
			for err := errCrash; err != nil; crashes++ {
				points, left := 1+random.IntN(pointsOfLife), ""
				_, err = s.run(t, folder, tws.Options{AtPoint: func(epoch.Point) (err error) {
					if points--; points != 0 {
						return nil
					}
					if left, err = copyOf(t, folder); err != nil {
						return err
					}
					return errCrash
				}})
				if err != nil && !errors.Is(err, errCrash) || crashes > 200 {
					t.Fatalf("after %d crashes: %v", crashes, err)
				}
				folder = left
			}
			t.Logf("%d crashes", crashes-1)
			s.exactlyOnce(t)
		})
	}
}

// pointsOfLife is more than what one epoch passes.
const pointsOfLife = 40

// Crashes that follow each other lose and double nothing, also those in the middle
// of making good an earlier one. B-37
func TestCrashAgain(t *testing.T) {
	t.Parallel()
	fake(t).crashAgain(t)
}
