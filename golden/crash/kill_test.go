package crash

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	tws "github.com/tws-go/tws/runtime"
)

// childFolder makes the test binary run the pipeline in that folder, as a process
// of its own that a test can kill; childStore says over which store.
const (
	childFolder = "TWS_CRASH_FOLDER"
	childStore  = "TWS_CRASH_STORE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		os.Exit(child(dir, os.Getenv(childStore)))
	}
	os.Exit(m.Run())
}

// child runs the pipeline. At every point of the commit order it prints a line and
// waits for one, so that it never gets far ahead of the one who kills it.
func child(dir, storeName string) int {
	stores, err := engines[storeName]()
	if err == nil {
		err = run(layout{dir}, stores, func(p tws.Point) error {
			fmt.Println(p)
			_, err := os.Stdin.Read(make([]byte, 1))
			return err
		}, small)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A process that is killed again and again, at random moments, comes to the same
// table and the same state as one that runs undisturbed. B-37, B-84
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	want := baseline(t)
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			l := layout{t.TempDir()}
			l.writeInput(t)
			kills := 0
			for runChild(t, l, name, 1+random.IntN(2*killAfter)) {
				kills++
			}
			t.Logf("killed %d times", kills)
			if kills < 30 {
				t.Errorf("killed %d times only; make the input longer", kills)
			}
			l.mustEqual(t, open(t, name), want)
		})
	}
}

// killAfter is how many points a process passes, on average, before it is killed.
const killAfter = 8

// runChild starts the pipeline, lets it pass some points and kills it on its way
// to the next. It reports false when the pipeline has come to its end instead.
func runChild(t *testing.T, l layout, storeName string, points int) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+l.dir, childStore+"="+storeName)
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
