package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

// B-77
func TestLongLine(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", rowsText(1)+`{"id":2,"pad":"`+strings.Repeat("x", 20<<20)+"\"}\n"+rowsText(3))
	f.want("20 MB line", f.drain(), 1, 2, 3)
}

// B-77
func TestLineOverTheLimit(t *testing.T) {
	t.Parallel()
	for _, size := range []int{101, 5000, firstBuffer, 3 * firstBuffer} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.source.MaxLineBytes = 100
			f.append("a", rowsText(1)+strings.Repeat("x", size)+"\n"+rowsText(3))
			end := f.discover(false)
			rows, _, err := f.tryRead(nil, end)
			f.want("before the error", ids(rows), 1)
			wantError(t, err, filepath.Join(f.dir, "a")+":2: malformed row", "longer than 100 bytes", "MaxLineBytes")

			f.source.OnMalformed = Drop
			f.restart()
			rows, stats, err := f.tryRead(nil, f.discover(false))
			if err != nil || stats.Malformed != 1 || stats.Bytes != int64(size)+19 {
				t.Errorf("got %+v, %v, want one malformed line", stats, err)
			}
			f.want("with the line dropped", ids(rows), 1, 3)
			f.wantLog(filepath.Join(f.dir, "a")+":2", 1)
		})
	}
}

// B-77
func TestLineLimitIsInclusive(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.source.MaxLineBytes = len(`{"id":1}`)
	f.append("a", "{\"id\":1}\n{\"id\":2}")
	f.pass(time.Minute)
	f.want("lines of the limit", f.drain(), 1, 2)
}

// B-77: a file without line ends costs no more memory than the limit.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	var l lines
	l.reset(zeros{}, 0, 1<<30, limit)
	if _, err := l.line(); err != errLongLine {
		t.Fatalf("got %v, want a line that is too long", err)
	}
	if len(l.buf) > limit+firstBuffer {
		t.Errorf("the buffer has %d bytes, want at most %d", len(l.buf), limit+firstBuffer)
	}
	if _, err := l.line(); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

// zeros is an endless file without line ends.
type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) { return len(b), nil }

// B-81
func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"id":1}{"id":2}`, `null`, `[]`, `3`, `{"id":1.5}`, `{"idd":1}`, `{`, `x`, "\xef\xbb\xbf{\"id\":1}"} {
		f := newFolder(t)
		f.append("a", "\n"+rowsText(1, 2)+bad+"\n"+rowsText(3))
		end := f.discover(false)
		mid := f.cut(nil, end, stream.Limits{Rows: 1})
		rows, _, err := f.tryRead(mid, end)
		f.want("before the error", ids(rows), 2)
		wantError(t, err, filepath.Join(f.dir, "a")+":4: malformed row: ")
		var m *stream.MalformedError
		if !errors.As(err, &m) || m.Where != filepath.Join(f.dir, "a")+":4" {
			t.Errorf("%q: got %#v, want a MalformedError", bad, err)
		}
	}
}

// B-81
func TestBlanksAreFine(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.append("a", "\xef\xbb\xbf{\"id\":1}\r\n\r\n\n  \t{\"id\":2} \t \r\n   \n{\"id\":3}\r\n")
	end := f.discover(false)
	f.want("rows", ids(f.read(nil, end)), 1, 2, 3)
	at := f.at
	for _, want := range []int64{1, 2, 3} {
		to := f.cut(at, end, stream.Limits{Rows: 1})
		f.want("one by one", ids(f.read(at, to)), want)
		at = to
	}
}

func TestDroppedLinesAreCounted(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.source.OnMalformed = Drop
	f.append("a", strings.Repeat("bad\n"+rowsText(1), 25))
	rows, stats, err := f.tryRead(nil, f.discover(false))
	if err != nil || stats.Malformed != 25 || stats.Rows != 25 || len(rows) != 25 {
		t.Errorf("got %+v, %v, want 25 rows and 25 malformed lines", stats, err)
	}
	f.wantLog("malformed row dropped", maxNamed)
	f.wantLog(filepath.Join(f.dir, "a")+":19", 1)
	f.wantLog("not logged", 1)
}

func TestLines(t *testing.T) {
	t.Parallel()
	// Lines around the buffer's end, in every position to it.
	for _, size := range []int{firstBuffer - 2, firstBuffer - 1, firstBuffer, firstBuffer + 1, 2*firstBuffer - 1, 2 * firstBuffer} {
		var text []byte
		var want []string
		for _, n := range []int{3, size, 0, 5, size, size, 1} {
			line := strings.Repeat("y", n)
			want = append(want, line)
			text = append(append(text, line...), '\n')
		}
		want = append(want, "tail")
		text = append(text, "tail"...)
		var l lines
		l.reset(bytes.NewReader(text), 0, int64(len(text)), 10*firstBuffer)
		at := int64(0)
		for i, w := range want {
			if l.offset() != at {
				t.Fatalf("size %d, line %d: offset %d, want %d", size, i, l.offset(), at)
			}
			got, err := l.line()
			if err != nil || string(got) != w {
				t.Fatalf("size %d, line %d: got %d bytes, %v, want %d", size, i, len(got), err, len(w))
			}
			at += int64(len(w)) + 1
		}
		if _, err := l.line(); err != io.EOF {
			t.Fatalf("size %d: got %v, want the end", size, err)
		}
	}
}

func TestLineEnds(t *testing.T) {
	t.Parallel()
	gap := strings.Repeat("z", searchBuffer+7)
	text := "a\n" + gap + "\n" + gap + "\n" + gap
	f := strings.NewReader(text)
	first, second, third := int64(2), int64(2+len(gap)+1), int64(2+2*len(gap)+2)
	size := int64(len(text))
	for _, c := range []struct{ lo, hi, last, first int64 }{
		{0, size, third, first},
		{first, size, third, second},
		{second, third, third, third},
		{second, third - 1, second, third - 1},
		{third, size, third, size},
		{0, first, first, first},
		{0, 1, 0, 1},
		{5, 5, 5, 5},
	} {
		if got, err := lastLineEnd(f, c.lo, c.hi); got != c.last || err != nil {
			t.Errorf("last line end in [%d, %d) is %d, %v, want %d", c.lo, c.hi, got, err, c.last)
		}
		if got, err := firstLineEnd(f, c.lo, c.hi); got != c.first || err != nil {
			t.Errorf("first line end in [%d, %d) is %d, %v, want %d", c.lo, c.hi, got, err, c.first)
		}
	}
	for offset, want := range map[int64]int64{0: 1, first: 2, second: 3, third: 4} {
		if got, err := lineNumber(f, offset); got != want || err != nil {
			t.Errorf("line number at %d is %d, %v, want %d", offset, got, err, want)
		}
	}
}
