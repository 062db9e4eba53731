package dialogue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/golden/dialogue"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/twstest"
)

func TestDialogues(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dialogues: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			if twstest.Updating() {
				record(t, path)
			}
			blocks := read(t, path)
			for _, s := range settings() {
				t.Run(s.String(), func(t *testing.T) {
					t.Parallel()
					play(t, s, path, blocks)
				})
			}
		})
	}
}

func read(t *testing.T, path string) []block {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if again := format(blocks); again != strings.TrimRight(string(data), "\n")+"\n" {
		t.Fatalf("%s is not in its canonical form:\n%s", path, cmp.Diff(string(data), again))
	}
	return blocks
}

// flowOf is the flow of a dialogue: in event time if its name begins so.
func flowOf(path string) func(tws.Source[dialogue.Command]) func(*tws.Flow) tws.Stream[dialogue.Result] {
	if strings.HasPrefix(filepath.Base(path), "event") {
		return dialogue.EventFlow
	}
	return dialogue.Flow
}

// play goes through a dialogue and compares the answers.
func play(t *testing.T, s setting, path string, blocks []block) {
	st := newStage(t, s)
	st.flow = flowOf(path)
	for _, b := range blocks {
		got, err := st.do(b.commands)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, b.line, err)
		}
		if got != b.answer {
			t.Fatalf("%s:%d: %s (-want +got):\n%s", path, b.line, b.comment, cmp.Diff(b.answer, got))
		}
	}
}

// record goes through a dialogue in the simplest setting and writes down the
// answers.
func record(t *testing.T, path string) {
	blocks := read(t, path)
	st := newStage(t, settings()[0])
	st.flow = flowOf(path)
	for i, b := range blocks {
		got, err := st.do(b.commands)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, b.line, err)
		}
		blocks[i].answer = got
	}
	if err := os.WriteFile(path, []byte(format(blocks)), 0o644); err != nil {
		t.Fatal(err)
	}
}
