package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/zeebo/xxh3"
)

// kind is what a record file holds. Its text is in the file's header.
type kind string

const (
	kindCheckpoint kind = "checkpoint"
	kindFork       kind = "fork"
	kindMeta       kind = "meta"
	kindPlan       kind = "plan"
	kindAttempt    kind = "attempt"
	kindChangelog  kind = "changelog"
	kindPrepared   kind = "prepared"
	kindDecision   kind = "decision"
	kindEnds       kind = "ends"
	kindChoice     kind = "choice"
	kindJournal    kind = "journal"
	kindSnapshot   kind = "snapshot"
)

// formatVersion is the version of every kind's payload that this build writes,
// and the newest that it reads.
const formatVersion = 1

const (
	magic = "tws"
	// maxHeader bounds a header line: magic, kind, two numbers, checksum.
	maxHeader = 128
)

// The envelope of a record file is one line of text and the payload:
//
//	tws plan 1 123 xxh3:0123456789abcdef
//
// magic, kind, format version, payload length in bytes, checksum. The checksum
// is over the line up to and including the space before it, and the payload, so
// a changed bit anywhere is found. The envelope is the same for all time; the
// version is that of the payload.

// appendHeader appends the header line of a record.
func appendHeader(dst []byte, k kind, version int, payload []byte) []byte {
	start := len(dst)
	dst = fmt.Appendf(dst, "%s %s %d %d ", magic, k, version, len(payload))
	return fmt.Appendf(dst, "%s\n", sum(dst[start:], payload))
}

// sum is the checksum of the parts, one after the other: "xxh3:" and 16 digits.
func sum(parts ...[]byte) string {
	return formatSum(hash(parts...))
}

func formatSum(h uint64) string { return fmt.Sprintf("xxh3:%016x", h) }

func hash(parts ...[]byte) uint64 {
	if len(parts) == 1 {
		return xxh3.Hash(parts[0])
	}
	h := xxh3.New()
	for _, p := range parts {
		h.Write(p) // never fails
	}
	return h.Sum64()
}

// errDamage says what is wrong with a record's bytes. Callers, who know the
// file, make an error of it that matches [ErrCorrupt].
type errDamage string

func (e errDamage) Error() string { return string(e) }

// newerError reports a sound record of a version that this build does not know.
type newerError struct {
	kind    kind
	version int
}

func (e *newerError) Error() string {
	return fmt.Sprintf("%s format %d, this build knows %d", e.kind, e.version, formatVersion)
}

// openEnvelope checks the record at the start of data and returns its payload
// and what follows it. The error is an errDamage or a *newerError.
func openEnvelope(data []byte, want kind) (payload, rest []byte, err error) {
	if len(data) == 0 {
		return nil, nil, errDamage("the file is empty")
	}
	end := bytes.IndexByte(data[:min(len(data), maxHeader)], '\n')
	if end < 0 {
		return nil, nil, errDamage("the header line is missing or cut off")
	}
	line, body := string(data[:end]), data[end+1:]
	field := strings.Split(line, " ")
	if len(field) != 5 || field[0] != magic {
		return nil, nil, errDamage(fmt.Sprintf("header %.80q is not that of a %s record", line, magic))
	}
	version, verr := strconv.Atoi(field[2])
	length, lerr := strconv.ParseUint(field[3], 10, 63)
	if verr != nil || lerr != nil || version < 1 {
		return nil, nil, errDamage(fmt.Sprintf("header %.80q is not that of a %s record", line, magic))
	}
	if uint64(len(body)) < length {
		return nil, nil, errDamage(fmt.Sprintf("%d bytes of payload where the header says %d: the file is cut off", len(body), length))
	}
	payload, rest = body[:length], body[length:]
	prefix := data[:end-len(field[4])]
	if got := sum(prefix, payload); got != field[4] {
		return nil, nil, errDamage(fmt.Sprintf("checksum is %s, the header says %.40q (and format %d)", got, field[4], version))
	}
	if kind(field[1]) != want {
		return nil, nil, errDamage(fmt.Sprintf("it holds a %s record, not a %s record", field[1], want))
	}
	if version > formatVersion {
		return nil, nil, &newerError{kind: want, version: version}
	}
	return payload, rest, nil
}

// encodeJSON is the one way that records become JSON: people read them, so they
// are indented, and what looks like HTML stays as it is.
func encodeJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeJSON is the inverse. It removes the indentation first, so that JSON
// which is kept as bytes, such as positions, comes back as it was. A field that
// this build does not know is an error: ignoring it could lose rows.
func decodeJSON(payload []byte, v any) error {
	var b bytes.Buffer
	if err := json.Compact(&b, payload); err != nil {
		return err
	}
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// encodeRecord returns the bytes of a JSON record file.
func encodeRecord(k kind, v any) ([]byte, error) {
	payload, err := encodeJSON(v, "  ")
	if err != nil {
		return nil, err
	}
	data := appendHeader(make([]byte, 0, maxHeader+len(payload)), k, formatVersion, payload)
	data = append(data, payload...)
	return append(data, '\n'), nil
}

// decodeRecord is the inverse of encodeRecord. The error is an errDamage or a
// *newerError.
func decodeRecord(data []byte, k kind, v any) error {
	payload, rest, err := openEnvelope(data, k)
	if err != nil {
		return err
	}
	if string(rest) != "\n" {
		return errDamage("the file does not end where its header says")
	}
	if err := decodeJSON(payload, v); err != nil {
		return errDamage("payload: " + err.Error())
	}
	return nil
}

// createJSON writes a JSON record exclusively and durably.
func (c *Checkpoint) createJSON(path string, k kind, v any) error {
	data, err := encodeRecord(k, v)
	if err != nil {
		return fmt.Errorf("checkpoint: encode %s for %s: %w", k, path, err)
	}
	return c.create(path, k, data)
}

// create writes a file exclusively and durably.
func (c *Checkpoint) create(path string, k kind, data []byte) error {
	if err := durable.Create(path, data, c.sync); err != nil {
		return fmt.Errorf("checkpoint: write %s: %w", k, err)
	}
	return nil
}

// readJSON reads a JSON record. A missing file matches [fs.ErrNotExist], damage
// matches [ErrCorrupt].
func readJSON(path string, k kind, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("checkpoint: read %s: %w", k, err)
	}
	return atFile(path, k, decodeRecord(data, k, v))
}

// readExisting is readJSON for records that may be absent.
func readExisting(path string, k kind, v any) (ok bool, err error) {
	err = readJSON(path, k, v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// atFile turns what is wrong with a record into an error about its file.
func atFile(path string, k kind, err error) error {
	var newer *newerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &newer):
		return fmt.Errorf("%w: %s has %w: use the build that wrote it, or a newer one", ErrNewer, path, newer)
	}
	return corrupt(path, "damaged %s: %w", k, err)
}

// corrupt makes an error that matches [ErrCorrupt], with the way out that holds
// for everything that is needed to go on.
func corrupt(path, format string, args ...any) error {
	return corruptFix(path, "restore the checkpoint from a copy, or start over with a new one", format, args...)
}

func corruptFix(path, fix, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w; nothing was changed: %s", ErrCorrupt, path, fmt.Errorf(format, args...), fix)
}
