package codec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendJSONString appends v quoted, as encoding/json does without HTML
// escaping: control characters, the quote, the backslash, U+2028 and U+2029 are
// escaped, and bytes that are not UTF-8 become the escaped U+FFFD.
func AppendJSONString(dst []byte, v string) []byte {
	dst = append(dst, '"')
	start := 0 // the first byte not yet appended
	for i := 0; i < len(v); {
		size := plainJSON(v[i:])
		if size > 0 {
			i += size
			continue
		}
		dst = append(dst, v[start:i]...)
		dst, size = appendJSONEscape(dst, v[i:])
		i += size
		start = i
	}
	return append(append(dst, v[start:]...), '"')
}

// plainJSON returns the size of the first character of s, or 0 if a JSON string
// cannot hold it as it is.
func plainJSON(s string) int {
	switch c := s[0]; {
	case c < ' ' || c == '"' || c == '\\':
		return 0
	case c < utf8.RuneSelf:
		return 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
		return 0
	}
	return size
}

// appendJSONEscape appends the first character of s, which is not plain, and
// returns its size in s.
func appendJSONEscape(dst []byte, s string) ([]byte, int) {
	switch c := s[0]; c {
	case '"', '\\':
		return append(dst, '\\', c), 1
	case '\b':
		return append(dst, `\b`...), 1
	case '\f':
		return append(dst, `\f`...), 1
	case '\n':
		return append(dst, `\n`...), 1
	case '\r':
		return append(dst, `\r`...), 1
	case '\t':
		return append(dst, `\t`...), 1
	}
	r, size := utf8.DecodeRuneInString(s) // U+FFFD for a byte that is not UTF-8
	return append(dst, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf]), size
}

// AppendJSONInt appends v in decimal, with all its digits.
func AppendJSONInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// AppendJSONUint appends v in decimal, with all its digits.
func AppendJSONUint(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }

// AppendJSONBool appends true or false.
func AppendJSONBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendJSONFloat appends v in the number format of encoding/json, with the
// fewest digits that give v back when read with the same bits, 32 or 64. NaN
// and the infinities are errors, for JSON has no such numbers; dst is then
// returned as it was.
func AppendJSONFloat(dst []byte, v float64, bits int) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, fmt.Errorf("codec: JSON has no number %v", v)
	}
	if !exponentJSON(math.Abs(v), bits) {
		return strconv.AppendFloat(dst, v, 'f', -1, bits), nil
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is written e-9
		dst = dst[:n-1]
	}
	return dst, nil
}

// exponentJSON tells whether encoding/json writes the number with an exponent.
func exponentJSON(abs float64, bits int) bool {
	if bits == 32 {
		return abs != 0 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)
	}
	return abs != 0 && (abs < 1e-6 || abs >= 1e21)
}

// AppendJSONBytes appends v as a string in standard base64 with padding, or null
// for a nil slice.
func AppendJSONBytes(dst []byte, v []byte) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"')
}

var errJSONYear = errors.New("RFC 3339 holds the years 0 to 9999")

// AppendJSONTime appends the instant v as a string in RFC 3339 with nanoseconds,
// in UTC. A year outside 0 to 9999 is an error; dst is then returned as it was.
func AppendJSONTime(dst []byte, v time.Time) ([]byte, error) {
	v = v.UTC()
	if y := v.Year(); y < 0 || y > 9999 {
		return dst, fmt.Errorf("codec: time in year %d: %w", y, errJSONYear)
	}
	return append(v.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}

// AppendJSONDuration appends v as its number of nanoseconds.
func AppendJSONDuration(dst []byte, v time.Duration) []byte { return AppendJSONInt(dst, int64(v)) }
