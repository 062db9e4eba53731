package mem

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/store"
	"github.com/zeebo/xxh3"
)

// The file of a working store and of a snapshot:
//
//	6 bytes   "TWSMEM"
//	2 bytes   version, big-endian: 1
//	per family, point then ordered, its entries in ascending key order:
//	    byte 1, uvarint length and bytes of the key, the same of the value
//	  and after the last one:
//	    byte 0, uvarint count of the entries
//	8 bytes   XXH3-64 of all bytes before, big-endian
const (
	fileName    = "store.mem"
	fileMagic   = "TWSMEM"
	fileVersion = 1
	fileHeader  = len(fileMagic) + 2
	fileSum     = 8

	entryByte = 1
	endByte   = 0
)

// replaceFile writes the working store's file.
func (s *Store) replaceFile() error {
	name := filepath.Join(s.dir, fileName)
	temp := filepath.Join(s.dir, durable.TempPrefix+fileName)
	// A crash may have left one.
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := s.writeFile(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	return durable.SyncDir(s.dir)
}

// writeFile writes a new file and makes its content durable.
func (s *Store) writeFile(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = s.encode(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// encode writes the store's content, without what has expired.
func (s *Store) encode(to io.Writer) error {
	sum := xxh3.New()
	w := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<16)
	buf := append([]byte(fileMagic), fileVersion>>8, fileVersion)
	clock := s.clock.Load()
	for _, t := range s.trees {
		count := uint64(0)
		t.Scan(func(key, value string) bool {
			if expired(key, value, clock) {
				return true
			}
			count++
			buf = appendString(append(buf, entryByte), key)
			buf = appendString(buf, value)
			_, err := w.Write(buf)
			buf = buf[:0]
			return err == nil
		})
		buf = binary.AppendUvarint(append(buf, endByte), count)
	}
	if _, err := w.Write(buf); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := to.Write(binary.BigEndian.AppendUint64(nil, sum.Sum64()))
	return err
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decode fills an empty store from a file's bytes. Errors match
// [store.ErrCorrupt], except for a version that is not known.
func (s *Store) decode(data []byte) error {
	if len(data) < fileHeader+fileSum || string(data[:len(fileMagic)]) != fileMagic {
		return fmt.Errorf("%w: %d bytes that are no store file", store.ErrCorrupt, len(data))
	}
	body, tail := data[:len(data)-fileSum], data[len(data)-fileSum:]
	if have, want := xxh3.Hash(body), binary.BigEndian.Uint64(tail); have != want {
		return fmt.Errorf("%w: the checksum of its %d bytes is %016x, want %016x", store.ErrCorrupt, len(data), have, want)
	}
	if v := binary.BigEndian.Uint16(data[len(fileMagic):]); v != fileVersion {
		return fmt.Errorf("file version %d, but this program reads version %d: use the program that wrote it", v, fileVersion)
	}
	r := fileReader{data: body, off: fileHeader}
	for f := range s.trees {
		if err := s.decodeFamily(&r, store.Family(f)); err != nil {
			return err
		}
	}
	if r.off != len(body) {
		return fmt.Errorf("%w: %d bytes after the end at byte %d", store.ErrCorrupt, len(body)-r.off, r.off)
	}
	return nil
}

func (s *Store) decodeFamily(r *fileReader, f store.Family) error {
	last, count := "", uint64(0)
	kind := r.byte()
	for ; kind == entryByte; kind = r.byte() {
		start := r.off
		key, value := r.bytes(), r.bytes()
		if r.bad {
			return fmt.Errorf("%w: the entry at byte %d is cut short", store.ErrCorrupt, start)
		}
		if count > 0 && view(key) <= last {
			return fmt.Errorf("%w: the key at byte %d is out of order", store.ErrCorrupt, start)
		}
		s.set(f, key, value, false)
		last = view(key)
		count++
	}
	if want := r.uvarint(); r.bad || kind != endByte || want != count {
		return fmt.Errorf("%w: family %d has %d entries up to byte %d, where it should end after %d", store.ErrCorrupt, f, count, r.off, want)
	}
	return nil
}

// fileReader reads bounded pieces; bad is set by the first that is not there.
type fileReader struct {
	data []byte
	off  int
	bad  bool
}

func (r *fileReader) byte() byte {
	if r.bad || r.off >= len(r.data) {
		r.bad = true
		return endByte
	}
	r.off++
	return r.data[r.off-1]
}

func (r *fileReader) uvarint() uint64 {
	n, w := binary.Uvarint(r.data[r.off:])
	if r.bad || w <= 0 {
		r.bad = true
		return 0
	}
	r.off += w
	return n
}

func (r *fileReader) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.data)-r.off) {
		r.bad = true
		return nil
	}
	r.off += int(n)
	return r.data[r.off-int(n) : r.off]
}
