package checkpoint

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

const (
	goldenDir = "../../golden/checkpoint"
	docFile   = "../../docs/internals/checkpoint.md"
)

// The files of the golden checkpoint, by the name of their golden copy. Binary
// files are kept as hex dumps.
var goldenFiles = map[string]string{
	"checkpoint": "checkpoint",
	"fork":       "fork-0001",
	"meta":       "flows/alerts/meta/0001",
	"plan":       "flows/alerts/plans/00000000000000000001",
	"attempt":    "flows/alerts/attempts/00000000000000000001-0002",
	"prepared":   "flows/alerts/prepared/00000000000000000001-0002",
	"decision":   "flows/alerts/decisions/00000000000000000001",
	"ends":       "flows/alerts/ends",
	"choice":     "flows/alerts/choice",
	"manifest":   "flows/alerts/snapshots/00000000000000000001/manifest",

	"changelog.hex": "flows/alerts/changelogs/0/00000000000000000001-0002",
	"journal.hex":   "flows/alerts/sources/readings.journal",
}

// The bytes on disk are a contract: a change here is a new format version.
func TestGolden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeGolden(t, dir)
	got := map[string]string{}
	for name, path := range goldenFiles {
		data, err := os.ReadFile(filepath.Join(dir, path))
		must(t, err)
		got[name+".txt"] = string(data)
		if strings.HasSuffix(name, ".hex") {
			got[name+".txt"] = hex.Dump(data)
		}
	}
	got["tree.txt"] = listTree(t, dir)
	if *update {
		recordGolden(t, got)
	}
	entries, err := listNames(goldenDir)
	must(t, err)
	if len(entries) != len(got) {
		t.Errorf("%s has the files %q, want %d", goldenDir, entries, len(got))
	}
	doc, err := os.ReadFile(docFile)
	must(t, err)
	for name, text := range got {
		want, err := os.ReadFile(filepath.Join(goldenDir, name))
		must(t, err)
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("%s (-golden +got; -update re-records):\n%s", name, diff)
		}
		if !strings.Contains(string(doc), "\n"+strings.TrimSuffix(text, "\n")+"\n") {
			t.Errorf("%s lacks the example in %s/%s", docFile, goldenDir, name)
		}
	}
}

func recordGolden(t *testing.T, files map[string]string) {
	t.Helper()
	must(t, os.MkdirAll(goldenDir, 0o777))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(goldenDir, name), []byte(text), 0o666))
	}
}

func listTree(t *testing.T, dir string) string {
	var paths []string
	for path := range readTree(t, dir) {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return strings.Join(paths, "\n") + "\n"
}

// makeGolden makes a checkpoint with one file of each kind. Only the UIDs are
// set by hand, since they are random.
func makeGolden(t *testing.T, dir string) {
	t.Helper()
	c := &Checkpoint{dir: dir}
	must(t, c.createJSON(filepath.Join(dir, identityName), kindCheckpoint, identityRecord{
		UID: "3f0c1a52-9d1e-4b7a-8c55-0e6f2d9b7a41", KeyGroups: 256, Layout: layoutVersion,
	}))
	must(t, c.createJSON(filepath.Join(dir, forkName(1)), kindFork, forkRecord{
		UID: "b7e2d6c0-51f4-4e0d-9a3b-6c8f1d2e4a97", Parent: "3f0c1a52-9d1e-4b7a-8c55-0e6f2d9b7a41",
	}))
	c = open(t, dir, nil)
	f, err := c.Flow("alerts")
	must(t, err)
	must(t, f.PutMeta(goldenMeta()))
	must(t, f.AppendJournal("readings", []byte(`{"name":"a.jsonl"}`)))
	must(t, f.AppendJournal("readings", []byte(`{"name":"b.jsonl"}`)))
	end := stream.Position(`{"file":2,"byte":118}`)
	must(t, f.WriteEnds(Ends{Sources: []SourceEnd{{Name: "readings", End: end, Partitions: 2}}}))
	watermark, largest := int64(1767225500000000), int64(1767225590000000)
	plan := Plan{Epoch: 1, ClockMicros: 1767225600000000, WatermarkMicros: &watermark, Sources: []SourceRange{{
		Name: "readings", To: end, Partitions: 2, PolledMicros: 1767225599000000,
	}}}
	must(t, f.WritePlan(plan))
	_, err = f.StartAttempt(1)
	must(t, err)
	attempt, err := f.StartAttempt(1)
	must(t, err)
	times := []SourceTimes{{Name: "readings", PolledMicros: 1767225599000000, Partitions: []PartitionTimes{
		{MaxMicros: &largest, RowsMicros: 1767225600000000}, {RowsMicros: 1767225600000000},
	}}}
	d := Decision{Epoch: 1, Attempt: attempt, Plan: plan, EventTimes: times, Sink: stream.Staged{
		Artefacts: []stream.Artefact{{Path: "part-00001-0002.parquet", Size: 1822, Sum: "xxh3:6a09e667f3bcc908"}},
		State:     []byte(`{"version":1}`), Rows: 3, Bytes: 1822,
	}}
	for p, batch := range []string{"\x01changes of partition 0\n", "\x01changes of partition 1\n"} {
		a, err := f.WriteChangelog(1, attempt, p, []byte(batch))
		must(t, err)
		d.Changelogs = append(d.Changelogs, a)
	}
	d.CommittedAs = "b7e2d6c0-51f4-4e0d-9a3b-6c8f1d2e4a97/alerts/0"
	must(t, f.WritePrepared(d))
	must(t, f.Decide(d))
	must(t, f.PutChoice(Choice{Epoch: 2, Attempt: 1, InDoubt: "rerun"}))
	s, err := f.BeginSnapshot(1)
	must(t, err)
	for p, name := range []string{"000012.sst", "CURRENT"} {
		must(t, os.Mkdir(s.PartitionDir(p), 0o777))
		must(t, os.WriteFile(filepath.Join(s.PartitionDir(p), name), []byte("MANIFEST-000005\n"), 0o666))
	}
	must(t, s.Commit())
}

func goldenMeta() FlowMeta {
	text := schemas.Type{Kind: schemas.String}
	return FlowMeta{
		Partitions: 2,
		Operators: []schemas.Processor{{
			Name: "heartbeat", TimeMode: schemas.TimeProcessing, OutputMode: schemas.OutputUpdate,
			Key: schemas.Type{Kind: schemas.Int64},
			States: []schemas.State{{
				ID: 1, Name: "byType", Kind: schemas.MapState, Key: &text,
				Value: schemas.Type{Kind: schemas.Int64}, Version: 1, TTLMicros: 86400000000,
			}},
			Timers: []schemas.Timer{{ID: 1, Name: "silent"}},
		}},
		Sources: []string{"readings"},
		Target:  "sensorAlerts",
		Store:   "rocks",
	}
}
