package crash

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tws-go/tws/golden/crash/internal/pipeline"
)

// build builds the pipeline as a program.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "pipeline")
	out, err := exec.Command("go", "build", "-o", binary, "./cmd/pipeline").CombinedOutput()
	if err != nil {
		t.Fatalf("build the pipeline: %v\n%s", err, out)
	}
	return binary
}

// dice is a random source whose seed the test tells.
func dice(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// minKills is how often a pipeline must have been killed for a test to count.
const minKills = 30

// A process that is killed again and again, at random moments, comes to the same
// table and the same state as one that runs undisturbed. New input waits for it at
// every start, and it waits for the disk as in production. B-37, B-84
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for name := range pipeline.Engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := dice(t)
			l := at(t.TempDir())
			files, kills := 0, 0
			for tries := 1; kills < minKills; tries++ {
				if tries > 20*minKills {
					t.Fatalf("killed %d times in %d tries", kills, tries)
				}
				if err := l.WriteInput(files, files+2); err != nil {
					t.Fatal(err)
				}
				files += 2
				if killed(t, binary, l, name, time.Duration(random.IntN(150))*time.Millisecond) {
					kills++
				}
			}
			t.Logf("killed %d times over %d files", kills, files)
			for range 2 { // the first finishes the run that was cut short, the second reads what came since
				if out, err := exec.Command(binary, l.Dir, name).CombinedOutput(); err != nil {
					t.Fatalf("the last run: %v\n%s", err, out)
				}
			}
			l.mustEqual(t, open(t, name), baseline(t, files))
		})
	}
}

// killed runs the pipeline and kills it after a while. It reports false when the
// pipeline came to its end before.
func killed(t *testing.T, binary string, l layout, storeName string, after time.Duration) bool {
	t.Helper()
	cmd := exec.Command(binary, l.Dir, storeName)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
	defer kill.Stop()
	err := cmd.Wait()
	if err != nil && cmd.ProcessState.Exited() {
		t.Fatalf("the pipeline failed: %v", err)
	}
	return err != nil
}

// killAfter is how many points a process passes, on average, before it is killed
// on its way to the next.
const killAfter = 8

// The same with kills that come everywhere between the points of the commit order,
// however fast or slow the machine is.
func TestKilledBetweenPoints(t *testing.T) {
	t.Parallel()
	want := baseline(t, pipeline.Files)
	binary := build(t)
	for name := range pipeline.Engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := dice(t)
			l := withInput(t, pipeline.Files)
			kills := 0
			for killedInStep(t, binary, l, name, 1+random.IntN(2*killAfter)) {
				kills++
			}
			t.Logf("killed %d times", kills)
			if kills < minKills {
				t.Errorf("killed %d times only; make the input longer", kills)
			}
			l.mustEqual(t, open(t, name), want)
		})
	}
}

// killedInStep starts the pipeline, lets it pass some points and kills it. It
// reports false when the pipeline has come to its end instead.
func killedInStep(t *testing.T, binary string, l layout, storeName string, points int) bool {
	t.Helper()
	cmd := exec.Command(binary, l.Dir, storeName, "step")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); points > 0 && lines.Scan(); points-- {
		if _, err := in.Write([]byte{'\n'}); err != nil {
			t.Fatal(err)
		}
	}
	if points == 0 {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	if err != nil && points > 0 {
		t.Fatalf("the pipeline failed: %v", err)
	}
	return err != nil
}
