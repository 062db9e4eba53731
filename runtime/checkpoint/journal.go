package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A journal file is a record without payload, followed by frames:
//
//	uint32 LE  length of the entry in bytes
//	uint32 LE  checksum of the length: low half of XXH3-64 of its four bytes
//	uint32 LE  checksum of the entry:  low half of XXH3-64 of its bytes
//	bytes      the entry
//
// The length has a checksum of its own, so that a damaged length in the middle
// is not taken for an unfinished entry at the end.
const frameHeader = 12

// maxEntry bounds an entry, in bytes.
const maxEntry = 1 << 30

func appendFrame(dst, entry []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(entry)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(hash(dst[start:start+4])))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(hash(entry)))
	return append(dst, entry...)
}

// parseJournal returns the entries of a journal file, which alias data, and the
// number of bytes that hold them. The bytes after that, if any, are an entry
// that was being written when the process or the machine went down: they are
// fewer than the entry needs, or all zero. Anything else is an errDamage or a
// *newerError.
func parseJournal(data []byte) (entries [][]byte, size int, err error) {
	payload, rest, err := openEnvelope(data, kindJournal)
	if err != nil {
		return nil, 0, err
	}
	if len(payload) > 0 {
		return nil, 0, errDamage("the header line has a payload")
	}
	for len(rest) > 0 {
		entry, n, err := parseFrame(rest)
		if err != nil {
			if len(bytes.Trim(rest, "\x00")) == 0 {
				break
			}
			return nil, 0, errDamage(fmt.Sprintf("entry %d at byte %d: %v", len(entries)+1, len(data)-len(rest), err))
		}
		if n > len(rest) {
			break
		}
		entries = append(entries, entry)
		rest = rest[n:]
	}
	return entries, len(data) - len(rest), nil
}

// parseFrame reads the frame at the start of data and returns its length, which
// exceeds that of data if the frame is cut off.
func parseFrame(data []byte) (entry []byte, n int, err error) {
	if len(data) < frameHeader {
		return nil, frameHeader, nil
	}
	length := binary.LittleEndian.Uint32(data)
	if uint32(hash(data[:4])) != binary.LittleEndian.Uint32(data[4:]) || length > maxEntry {
		return nil, 0, errors.New("the length is damaged")
	}
	n = frameHeader + int(length)
	if n > len(data) {
		return nil, n, nil
	}
	entry = data[frameHeader:n:n]
	if uint32(hash(entry)) != binary.LittleEndian.Uint32(data[8:]) {
		return nil, 0, errors.New("the checksum does not match")
	}
	return entry, n, nil
}

// Journal returns the entries of a source, oldest first; none if it has no
// journal. An entry that was cut off by a crash is dropped with a warning: it
// was never durable, so nothing was built on it.
func (f *Flow) Journal(source string) ([][]byte, error) {
	if err := checkName("source", source); err != nil {
		return nil, err
	}
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	return f.loadJournal(source)
}

// loadJournal reads a journal, cuts off an unfinished entry and makes the rest
// durable: the writer may have been killed before it could.
func (f *Flow) loadJournal(source string) ([][]byte, error) {
	path := f.journalPath(source)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.journals[source] = 0
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read journal: %w", err)
	}
	entries, size, err := parseJournal(data)
	if err != nil {
		return nil, atFile(path, kindJournal, err)
	}
	if size < len(data) {
		f.c.log.Warn("unfinished last entry of a source journal dropped",
			"file", path, "entries", len(entries), "bytes_dropped", len(data)-size)
	}
	if err := f.writeJournal(path, nil, int64(size)); err != nil {
		return nil, err
	}
	f.journals[source] = int64(size)
	return entries, nil
}

// AppendJournal adds an entry to the journal of a source. The entry is durable
// when it returns nil, and absent or whole after any crash.
func (f *Flow) AppendJournal(source string, entry []byte) error {
	if err := checkName("source", source); err != nil {
		return err
	}
	if len(entry) > maxEntry {
		return fmt.Errorf("checkpoint: journal entry of source %s: %d bytes, at most %d are possible", source, len(entry), maxEntry)
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if err := f.openJournal(source); err != nil {
		return err
	}
	frame := appendFrame(make([]byte, 0, frameHeader+len(entry)), entry)
	if err := f.writeJournal(f.journalPath(source), frame, f.journals[source]); err != nil {
		return err
	}
	f.journals[source] += int64(len(frame))
	return nil
}

// openJournal makes sure that the journal exists and its size is known.
func (f *Flow) openJournal(source string) error {
	if _, known := f.journals[source]; !known {
		if _, err := f.loadJournal(source); err != nil {
			return err
		}
	}
	if f.journals[source] > 0 {
		return nil
	}
	path := f.journalPath(source)
	header := appendHeader(nil, kindJournal, formatVersion, nil)
	if err := f.c.create(path, kindJournal, header); err != nil {
		return err
	}
	f.journals[source] = int64(len(header))
	return nil
}

// writeJournal writes b at the given offset, where the sound part of the file
// ends, and cuts off what lies there now: an entry whose writing failed.
func (f *Flow) writeJournal(path string, b []byte, offset int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("checkpoint: write journal: %w", err)
	}
	err = cutFile(file, offset)
	if err == nil && len(b) > 0 {
		_, err = file.WriteAt(b, offset)
	}
	if err == nil && f.c.sync {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("checkpoint: write journal: %w", err)
	}
	return nil
}

// cutFile makes the file size bytes long. A file that is shorter has been
// tampered with.
func cutFile(file *os.File, size int64) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() < size:
		return corrupt(file.Name(), "it has %d bytes and had %d before", info.Size(), size)
	case info.Size() == size:
		return nil
	}
	return file.Truncate(size)
}

func (f *Flow) journalPath(source string) string { return f.path("sources", source+".journal") }
