package file

import (
	"bytes"
	"errors"
	"io"
)

const (
	// firstBuffer is what a buffer starts with: large enough that reading costs
	// little beside decoding.
	firstBuffer = 256 << 10
	// keptBuffer is the largest buffer kept for the next file.
	keptBuffer = 4 << 20
	// searchBuffer is the size of the pieces in which line ends are looked for.
	searchBuffer = 64 << 10
)

// errLongLine reports a line that is longer than allowed.
var errLongLine = errors.New("file: line too long")

// lines splits a range of a file into lines. Its buffer is reused from range to
// range; it grows to the longest line, and no further than the limit.
type lines struct {
	file     io.ReaderAt
	next     int64 // offset of the first byte not in the buffer
	end      int64
	maxBytes int

	buf []byte
	// buf[start:stop] is not yet returned, buf[start:scan] holds no newline.
	start, scan, stop int
}

// reset starts with the range [from, to) of file.
func (l *lines) reset(file io.ReaderAt, from, to int64, maxBytes int) {
	if len(l.buf) == 0 || len(l.buf) > keptBuffer {
		l.buf = make([]byte, firstBuffer)
	}
	*l = lines{file: file, next: from, end: to, maxBytes: maxBytes, buf: l.buf}
}

// offset returns the offset of the next line.
func (l *lines) offset() int64 { return l.next - int64(l.stop-l.start) }

// line returns the next line without its newline, valid until the next call. It
// returns errLongLine for a line that is too long, which is then passed over,
// and io.EOF at the end.
func (l *lines) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scan:l.stop], '\n'); i >= 0 {
			line := l.buf[l.start : l.scan+i]
			l.start = l.scan + i + 1
			l.scan = l.start
			if len(line) > l.maxBytes {
				return nil, errLongLine
			}
			return line, nil
		}
		l.scan = l.stop
		if l.stop-l.start > l.maxBytes {
			return nil, l.skip()
		}
		if l.next == l.end {
			return l.last()
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// last returns the last line, which has no newline.
func (l *lines) last() ([]byte, error) {
	if l.start == l.stop {
		return nil, io.EOF
	}
	line := l.buf[l.start:l.stop]
	l.start = l.stop
	return line, nil
}

// skip passes over the rest of a line that is too long.
func (l *lines) skip() error {
	for {
		l.start, l.scan, l.stop = 0, 0, 0
		if l.next == l.end {
			return errLongLine
		}
		if err := l.fill(); err != nil {
			return err
		}
		if i := bytes.IndexByte(l.buf[:l.stop], '\n'); i >= 0 {
			l.start, l.scan = i+1, i+1
			return errLongLine
		}
	}
}

// fill reads more into the buffer.
func (l *lines) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.stop])
		l.scan, l.stop, l.start = l.scan-l.start, l.stop-l.start, 0
	}
	if l.stop == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.maxBytes+firstBuffer))
		copy(grown, l.buf)
		l.buf = grown
	}
	want := int(min(int64(len(l.buf)-l.stop), l.end-l.next))
	n, err := l.file.ReadAt(l.buf[l.stop:l.stop+want], l.next)
	if n < want {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	l.stop += n
	l.next += int64(n)
	return nil
}

// trimLine returns a line without the blanks around it and, at the start of a
// file, without a byte order mark.
func trimLine(line []byte, offset int64) []byte {
	if offset == 0 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	for len(line) > 0 && isBlank(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// endsLine reports whether the byte before offset is a newline.
func endsLine(f io.ReaderAt, offset int64) (bool, error) {
	var b [1]byte
	_, err := f.ReadAt(b[:], offset-1)
	return b[0] == '\n', err
}

// lastLineEnd returns the offset after the last newline in [lo, hi), or lo.
func lastLineEnd(f io.ReaderAt, lo, hi int64) (int64, error) {
	buf := make([]byte, min(searchBuffer, hi-lo))
	for hi > lo {
		n := min(int64(len(buf)), hi-lo)
		if _, err := f.ReadAt(buf[:n], hi-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return hi - n + int64(i) + 1, nil
		}
		hi -= n
	}
	return lo, nil
}

// firstLineEnd returns the offset after the first newline in [lo, hi), or hi.
func firstLineEnd(f io.ReaderAt, lo, hi int64) (int64, error) {
	buf := make([]byte, min(searchBuffer, hi-lo))
	for lo < hi {
		n := min(int64(len(buf)), hi-lo)
		if _, err := f.ReadAt(buf[:n], lo); err != nil {
			return 0, err
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return lo + int64(i) + 1, nil
		}
		lo += n
	}
	return hi, nil
}

// lineNumber returns the number, from 1, of the line that starts at offset.
func lineNumber(f io.ReaderAt, offset int64) (int64, error) {
	buf := make([]byte, min(searchBuffer, offset))
	number := int64(1)
	for at := int64(0); at < offset; {
		n := min(int64(len(buf)), offset-at)
		if _, err := f.ReadAt(buf[:n], at); err != nil {
			return 0, err
		}
		number += int64(bytes.Count(buf[:n], []byte("\n")))
		at += n
	}
	return number, nil
}
