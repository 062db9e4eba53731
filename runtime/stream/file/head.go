package file

import (
	"errors"
	"hash/crc32"
	"io"
)

// headSize is how many bytes of a file, from its start, are compared with what
// they were: enough to tell one file's first row from another's.
const headSize = 1024

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readHead returns the head of file n, of which size bytes are there.
func (in *input) readHead(r io.ReaderAt, n int32, size int64) (head, error) {
	h := head{File: n, Size: min(size, headSize)}
	b := make([]byte, h.Size)
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	h.Sum = crc32.Checksum(b, castagnoli)
	return h, nil
}

// checkHead makes sure that a file still begins as it did when it was first seen,
// and is not another one under its name.
func (in *input) checkHead(r io.ReaderAt, k *knownFile) error {
	if k.head.Size == 0 {
		return nil
	}
	now, err := in.readHead(r, k.head.File, k.head.Size)
	if err != nil {
		return in.errorf("read %s: %w", in.path(k.name), err)
	}
	if now.Sum == k.head.Sum {
		return nil
	}
	return in.errorf("%s was rewritten before all of it was read, it does not begin as it did: "+
		"put it back as it was and write new rows to a new file, or start over with a new checkpoint", in.path(k.name))
}

// noteHead puts the head of a file, of which size bytes are there, into a finding,
// unless it is known.
func (in *input) noteHead(f *finding, n int32, file found, size int64) error {
	r, err := in.open(file.name, size)
	if err != nil {
		return err
	}
	defer r.Close()
	h, err := in.readHead(r, n, size)
	if err != nil {
		return in.errorf("read %s: %w", in.path(file.name), err)
	}
	if int(n) >= len(in.ledger.files) || in.ledger.files[n].head != h {
		f.entry.Heads = append(f.entry.Heads, h)
	}
	return nil
}

// checkOpen is checkHead for a file that is not open.
func (in *input) checkOpen(file found, k *knownFile) error {
	if file.size < k.head.Size {
		return in.shrunkError(file.name, max(k.end, k.head.Size), file.size)
	}
	r, err := in.open(file.name, k.head.Size)
	if err != nil {
		return err
	}
	defer r.Close()
	return in.checkHead(r, k)
}
