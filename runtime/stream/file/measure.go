package file

import (
	"bytes"
	"encoding/json"
	"os"
	"time"
)

// measure is how far a file can be read.
type measure struct {
	end     int64
	scanned int64
	sealed  bool
	took    bool // an unfinished last line
}

// measure looks how far a file can be read that is not sealed. k holds what is
// known about it.
func (in *input) measure(file found, k *knownFile, final bool) (measure, error) {
	if file.size < k.end {
		return measure{}, in.shrunkError(file.name, k.end, file.size)
	}
	settled := in.now().Sub(time.Unix(0, file.modified)) >= in.settle
	if in.once || settled {
		return measure{end: file.size, scanned: file.size, sealed: file.size > 0}, nil
	}
	m := measure{end: k.end, scanned: k.scanned}
	if m.scanned > file.size || m.scanned < m.end {
		m.scanned = m.end
	}
	if m.end == file.size || m.scanned == file.size && !final {
		return m, nil
	}
	f, err := in.open(file.name, file.size)
	if err != nil {
		return m, err
	}
	defer f.Close()
	err = in.measureLines(&m, f, file, k, final)
	return m, err
}

// measureLines moves m to the last line end of an open file, and beyond the last
// line if it is to be taken.
func (in *input) measureLines(m *measure, f *os.File, file found, k *knownFile, final bool) error {
	if k.end > k.taken {
		if ok, err := endsLine(f, k.end); err != nil || !ok {
			return in.rewrittenError(file.name, k.end, err)
		}
	}
	end, err := lastLineEnd(f, m.scanned, file.size)
	if err != nil {
		return in.errorf("read %s: %w", in.path(file.name), err)
	}
	if end > m.scanned {
		m.end = end
	}
	m.scanned = file.size
	if !final || m.end == file.size {
		return nil
	}
	return in.takeTail(m, f, file)
}

// takeTail takes the last line of a file that may still be written, if it is
// all there. Half a row can only be a row being written: it waits for the next
// run, or until the file has settled.
func (in *input) takeTail(m *measure, f *os.File, file found) error {
	if file.size-m.end <= int64(in.maxLine) {
		tail := make([]byte, file.size-m.end)
		if _, err := f.ReadAt(tail, m.end); err != nil {
			return in.errorf("read %s: %w", in.path(file.name), err)
		}
		row := trimLine(tail, m.end)
		if bytes.HasPrefix(row, []byte("{")) && json.Valid(row) {
			m.end, m.took = file.size, true
			return nil
		}
		if len(row) == 0 {
			return nil
		}
	}
	in.log.Warn("file: last line left for the next run, it is still being written",
		"path", in.path(file.name), "offset", m.end)
	return nil
}
