package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

func TestEachLineOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.want("empty folder", f.drain())
	if f.at != nil {
		t.Errorf("the end of an empty folder is %q, want the start", f.at)
	}
	f.append("a.jsonl", rowsText(1, 2)+`{"id":`)
	f.want("complete lines", f.drain(), 1, 2)
	f.append("a.jsonl", "3}\n")
	f.append("sub/deep/b.jsonl", rowsText(4))
	f.want("growth and a new file", f.drain(), 3, 4)
	f.want("nothing new", f.drain())
	if got, want := string(f.at), `{"next":2,"open":{"0":27,"1":9}}`; got != want {
		t.Errorf("position %s, want %s", got, want)
	}
}

func TestFinishedFilesLeaveThePosition(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a.jsonl", rowsText(1))
	f.want("first", f.drain(), 1)
	before := string(f.at)
	f.pass(time.Minute)
	f.want("settled", f.drain())
	if string(f.at) != before {
		t.Errorf("a file that came to rest moved the position from %s to %s", before, f.at)
	}
	f.restart()
	f.want("settled, after a restart", f.drain())
	if string(f.at) != before {
		t.Errorf("a restart moved the position from %s to %s", before, f.at)
	}
	f.append("b.jsonl", rowsText(2))
	f.want("second", f.drain(), 2)
	if got, want := string(f.at), `{"next":2,"open":{"1":9}}`; got != want {
		t.Errorf("position %s, want %s", got, want)
	}
}

func TestManyFilesKeepThePositionSmall(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for i := range 300 {
		f.append(fmt.Sprintf("f%03d", i), rowsText(int64(i)))
	}
	if n := len(f.drain()); n != 300 {
		t.Fatalf("%d rows, want 300", n)
	}
	f.pass(time.Minute)
	f.want("settled", f.drain())
	if got, want := string(f.at), `{"next":300}`; got != want {
		t.Errorf("position %s, want %s", got, want)
	}
}

// B-78
func TestLastLineWithoutNewline(t *testing.T) {
	t.Parallel()
	t.Run("is taken when the file has settled", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1)+`{"id":2}`)
		f.want("fresh", f.drain(), 1)
		f.pass(DefaultSettle - time.Nanosecond)
		f.want("just before", f.drain())
		f.pass(time.Nanosecond)
		f.want("settled", f.drain(), 2)
		f.append("a", "\n"+rowsText(3))
		f.want("grown later", f.drain())
		f.wantLog("changed after they were complete", 1)
		f.drain()
		f.wantLog("changed after they were complete", 1)
	})
	t.Run("is taken at the end of a run", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1)+`{"id":2} `)
		end := f.discover(true)
		f.want("final", ids(f.read(nil, end)), 1, 2)
		f.restart()
		if again := f.discover(false); !again.Equal(end) {
			t.Errorf("after the restart the end is %s, want %s", again, end)
		}
		f.append("a", "\n"+rowsText(3))
		f.restart()
		f.want("next run", ids(f.read(end, f.discover(true))), 3)
	})
	t.Run("is left at the end of a run when it is half a row", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1)+`{"id":2`)
		end := f.discover(true)
		f.want("final", ids(f.read(nil, end)), 1)
		f.wantLog("still being written", 1)
		f.append("a", "3}\n")
		f.restart()
		f.want("next run", ids(f.read(end, f.discover(true))), 23)
	})
	t.Run("is malformed when a settled file ends in half a row", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1)+`{"id":2`)
		f.pass(time.Minute)
		_, _, err := f.tryRead(nil, f.discover(false))
		wantError(t, err, "a:2", "malformed row")
	})
}

// B-78
func TestIgnoredNames(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, name := range []string{".hidden", "_SUCCESS", "a.tmp", ".git/x", "_temporary/x", "b.tmp/x", ".a.gz"} {
		f.append(name, "no rows")
	}
	f.append("new.tmp", rowsText(1))
	f.pass(time.Minute)
	f.want("ignored", f.drain())
	if err := os.Rename(filepath.Join(f.dir, "new.tmp"), filepath.Join(f.dir, "new")); err != nil {
		t.Fatal(err)
	}
	f.want("renamed", f.drain(), 1)
}

// B-79
func TestNamesAreLiteral(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	names := []string{"%41.json", "a b#é.csv", "a*b.csv", "abc[123].json", "back\\slash", "line\nend", "quo\"te", "x?y.json", "\xff\xfe", "日本/語"}
	var want []int64
	for i, name := range names {
		f.append(name, rowsText(int64(i)))
		want = append(want, int64(i))
		f.pass(time.Second)
	}
	f.want("strange names", f.drain(), want...)
	if j := string(f.journal[0]); !strings.Contains(j, `"%41.json","a b#é.csv","a*b.csv","abc[123].json"`) {
		t.Errorf("journal does not hold the literal names: %s", j)
	}
	f.pass(time.Minute)
	f.restart()
	f.want("after a restart", f.drain())
	if len(f.journal) > 2 {
		t.Errorf("journal grew to %d entries, want the names and the seals", len(f.journal))
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("z", rowsText(1))
	f.pass(time.Second)
	f.append("b", rowsText(3))
	f.append("a", rowsText(2))
	f.want("by time, then name", f.drain(), 1, 2, 3)
	f.clock = f.clock.Add(-time.Hour)
	f.append("old", rowsText(4))
	f.clock = f.clock.Add(time.Hour)
	rows := f.read(f.at, f.discover(false))
	if len(rows) != 1 || rows[0].Partition != 3 {
		t.Errorf("a file found later got %v, want number 3", rows)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("_real", rowsText(1))
	f.append("_dir/x", rowsText(2))
	for link, target := range map[string]string{"link": "_real", "folder": "_dir", "loop": "loop", "up": "..", "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(f.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.want("links to files only", f.drain(), 1)
	f.want("again", f.drain())
	for _, name := range []string{"folder", "loop", "up", "dangling", "pipe"} {
		f.wantLog(filepath.Join(f.dir, name)+"\n", 1)
	}
}

// A file that was read as far as it was ever seen may go, also before it settled:
// whoever cleans up after a run need not wait.
func TestReadFileMayGo(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		f := newFolder(t)
		f.append("a", rowsText(1, 2))
		f.want("first", f.drain(), 1, 2)
		f.remove("a")
		if restart {
			f.restart()
		}
		f.append("b", rowsText(3))
		f.want("without it", f.drain(), 3)
		f.wantLog("a file is gone that was read as far as it was seen", 1)
		f.append("a", rowsText(1, 2, 4))
		f.want("it came back", f.drain())
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(f *folder)
		want  []string
	}{
		{"compressed", func(f *folder) { f.append("sub/a.json.GZ", "x") }, []string{"sub/a.json.GZ", "compressed", "decompress"}},
		{"open file gone", func(f *folder) {
			f.append("a", rowsText(3))
			f.discover(false)
			f.remove("a")
		}, []string{"readings/a is gone", "put it back"}},
		{"open file shrunk", func(f *folder) { f.rewrite("a", rowsText(1)) }, []string{"readings/a has shrunk to 9 bytes", "byte 18"}},
		{"open file rewritten", func(f *folder) { f.rewrite("a", rowsText(10, 11, 12)) }, []string{"readings/a was rewritten", "put it back"}},
		{"folder gone", func(f *folder) { f.remove("a"); f.remove("") }, []string{"does not exist", "create it"}},
		{"folder replaced", func(f *folder) {
			f.remove("a")
			f.remove("")
			if err := os.WriteFile(f.dir, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, []string{"not a folder", "give the folder"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.append("a", rowsText(1, 2))
			f.want("first", f.drain(), 1, 2)
			c.spoil(f)
			for range 2 { // a failed Discover changes nothing
				_, err := f.tryDiscover(false)
				wantError(t, err, append(c.want, "file: ")...)
			}
		})
	}
}

func TestChangedBetweenRuns(t *testing.T) {
	t.Parallel()
	t.Run("shrunk", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1, 2))
		f.want("first", f.drain(), 1, 2)
		f.rewrite("a", rowsText(1))
		f.restart()
		_, err := f.tryDiscover(false)
		wantError(t, err, "readings/a has shrunk to 9 bytes", "byte 18")
	})
	t.Run("emptied before it was read", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1))
		f.discover(false)
		f.rewrite("a", "")
		f.restart()
		f.append("b", rowsText(2))
		end := f.discover(false)
		to := f.cut(nil, end, stream.Limits{Rows: 1})
		f.want("the other file", ids(f.read(nil, to)), 2)
		f.append("a", rowsText(3))
		f.want("filled again", ids(f.read(to, f.discover(false))), 3)
	})
	t.Run("finished and removed", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1))
		f.pass(time.Minute)
		f.want("first", f.drain(), 1)
		f.remove("a")
		f.append("b", rowsText(2))
		f.restart()
		f.want("second", f.drain(), 2)
	})
	t.Run("settled, not read and removed", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1))
		f.pass(time.Minute)
		end := f.discover(false)
		f.remove("a")
		_, _, err := f.tryRead(nil, end)
		wantError(t, err, "readings/a is gone", "put it back")
	})
}

func TestReadIgnoresWhatCameLater(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1, 2))
	end := f.discover(false)
	f.append("a", rowsText(3))
	f.append("b", rowsText(4))
	f.want("before", ids(f.read(nil, end)), 1, 2)
	later := f.discover(false)
	f.want("the same positions", ids(f.read(nil, end)), 1, 2)
	f.want("the rest", ids(f.read(end, later)), 3, 4)
}

// B-84: a retry of an epoch reads the same rows after the files were sealed, too.
func TestPositionsOutliveSealing(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1, 2, 3))
	end := f.discover(false)
	mid := f.cut(nil, end, stream.Limits{Rows: 1})
	f.pass(time.Minute)
	f.append("b", rowsText(4))
	f.restart()
	later := f.discover(false)
	f.want("start to middle", ids(f.read(nil, mid)), 1)
	f.want("middle to old end", ids(f.read(mid, end)), 2, 3)
	f.want("middle to new end", ids(f.read(mid, later)), 2, 3, 4)
	f.want("old end to new end", ids(f.read(end, later)), 4)
	if to := f.cut(mid, end, stream.Limits{}); !to.Equal(end) {
		t.Errorf("cut to the old end is %s, want %s", to, end)
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.once = true
	f.append("a", rowsText(1)+`{"id":2}`)
	end := f.discover(false)
	f.append("a", "\n"+rowsText(3))
	f.append("b", rowsText(4))
	if again := f.discover(true); !again.Equal(end) {
		t.Errorf("second listing ends at %s, want %s", again, end)
	}
	f.restart()
	if again := f.discover(true); !again.Equal(end) {
		t.Errorf("listing after a restart ends at %s, want %s", again, end)
	}
	f.want("listed", ids(f.read(nil, end)), 1, 2)
	var _ stream.BoundedSource[reading] = f.source.Once()
	if got := f.source.Once().SourceName(); got != "readings" {
		t.Errorf("name %q, want readings", got)
	}
}

func TestOnceOverAnEmptyFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.once = true
	f.discover(false)
	f.append("a", rowsText(1))
	f.restart()
	if end := f.discover(true); end != nil {
		t.Errorf("end %s, want the start", end)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		source JSON[reading]
		want   []string
	}{
		{JSON[reading]{}, []string{"Path is empty"}},
		{JSON[reading]{Path: filepath.Join(dir, "none")}, []string{"file: folder " + filepath.Join(dir, "none") + " does not exist", "create it"}},
		{JSON[reading]{Path: plain}, []string{"not a folder", "give the folder"}},
		{JSON[reading]{Path: dir, Name: "a/b"}, []string{`name "a/b"`, "letters"}},
		{JSON[reading]{Path: dir, OnMalformed: 7}, []string{"OnMalformed is 7", "file.Drop"}},
		{JSON[reading]{Path: dir, MaxLineBytes: -1}, []string{"MaxLineBytes is -1"}},
		{JSON[reading]{Path: dir, Settle: -time.Second}, []string{"Settle is -1s"}},
		{JSON[reading]{Path: dir, MaxFiles: -1}, []string{"MaxFiles is -1"}},
	}
	for _, c := range cases {
		_, err := (&folder{source: c.source}).open()
		wantError(t, err, c.want...)
	}
	_, err := JSON[reading]{Path: dir}.Open(context.Background(), stream.SourceEnv[reading]{})
	wantError(t, err, "file.reading", "go generate")
}

func TestSourceName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/data/readings": "readings", "readings/": "readings", "a b/é x": "__x", ".": "files", "..": "files", "/": "files", "in.d": "in.d",
	} {
		if got := (JSON[reading]{Path: path}).SourceName(); got != want {
			t.Errorf("name of %q is %q, want %q", path, got, want)
		}
	}
	if got := (JSON[reading]{Path: "x", Name: "y"}).SourceName(); got != "y" {
		t.Errorf("name %q, want y", got)
	}
}

func TestErrorsOfTheCaller(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1, 2))
	end := f.discover(false)
	stop := errors.New("stop")
	stats, err := f.reader.Read(context.Background(), nil, end, func(*stream.Record[reading]) error { return stop })
	if !errors.Is(err, stop) || stats.Rows != 0 {
		t.Errorf("got %v after %d rows, want the caller's error after 0", err, stats.Rows)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.reader.Read(ctx, nil, end, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("read: got %v, want cancellation", err)
	}
	if _, err := f.reader.Cut(ctx, nil, end, stream.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cut: got %v, want cancellation", err)
	}
	if _, _, err := f.reader.Discover(ctx, nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("discover: got %v, want cancellation", err)
	}
	if err := errors.Join(f.reader.Close(), f.reader.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		// Root reads everything: a link that leads in a circle below a file's
		// name is the one thing that it cannot open.
		f := newFolder(t)
		f.append("a", rowsText(1))
		end := f.discover(false)
		f.remove("a")
		if err := os.Symlink("a", filepath.Join(f.dir, "a")); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.tryRead(nil, end)
		wantError(t, err, "open "+f.dir, "too many levels")
		return
	}
	f := newFolder(t)
	f.append("a", rowsText(1))
	if err := os.Chmod(filepath.Join(f.dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := f.tryDiscover(false)
	wantError(t, err, "readings/a", "permission denied")
}

// A complete file that changes before it was read to its end is read as it is
// then: somebody corrected a malformed line.
func TestCorrectedBeforeItWasRead(t *testing.T) {
	t.Parallel()
	for name, corrected := range map[string]string{
		"longer":  `{"id":2}   ` + "\n" + `{"id":3}` + "\n" + rowsText(4),
		"shorter": `{"id":2}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.append("a", rowsText(1)+`{"id":bad}`+"\n"+rowsText(4))
			f.pass(time.Minute)
			end := f.discover(false)
			at := f.cut(nil, end, stream.Limits{Rows: 1})
			f.want("first", ids(f.read(nil, at)), 1)
			f.at = at
			_, _, err := f.tryRead(at, end)
			wantError(t, err, "a:2: malformed row")
			f.restart()
			f.rewrite("a", rowsText(1)+corrected)
			got := f.drain()
			if len(got) == 0 || got[0] != 2 {
				t.Errorf("after the correction: rows %v", got)
			}
		})
	}
	t.Run("but not before what was read", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1, 2))
		f.pass(time.Minute)
		f.at = f.cut(nil, f.discover(false), stream.Limits{Rows: 1})
		f.rewrite("a", `{"id":1000}`+"\n"+rowsText(2))
		_, err := f.tryDiscover(false)
		wantError(t, err, "was rewritten", "no line ends at byte")
	})
}

// A file under a fixed name that is written anew before it settled is noticed,
// however long the new one is, also in a new process.
func TestRewrittenUnderItsName(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"as long": rowsText(8, 9),
		"longer":  rowsText(6, 7, 8, 9),
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " restart ", restart), func(t *testing.T) {
				t.Parallel()
				f := newFolder(t)
				f.append("latest.json", rowsText(1, 2))
				f.want("first", f.drain(), 1, 2)
				f.append(".next", text)
				if err := os.Rename(filepath.Join(f.dir, ".next"), filepath.Join(f.dir, "latest.json")); err != nil {
					t.Fatal(err)
				}
				if restart {
					f.restart()
				}
				_, err := f.tryDiscover(false)
				wantError(t, err, "latest.json was rewritten", "write new rows to a new file")
			})
		}
	}
	t.Run("between discovery and reading", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.append("a", rowsText(1, 2))
		end := f.discover(false)
		f.rewrite("a", rowsText(8, 9))
		_, _, err := f.tryRead(nil, end)
		wantError(t, err, "readings/a was rewritten")
	})
}
