package codec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string. What it returns may alias the input and is valid until
// the next string is read.
func (r *JSONReader) text(want string) (s []byte, ok bool) {
	if r.begin() != '"' {
		r.unexpected(want)
		return nil, false
	}
	return r.scanString(&r.textBuf)
}

// scanString consumes the string that starts at the next byte. Without escapes
// it returns a part of the input, with escapes *buf, which it overwrites.
func (r *JSONReader) scanString(buf *[]byte) (s []byte, ok bool) {
	from := r.off + 1
	end, escaped, ok := r.stringEnd(from)
	if !ok {
		return nil, false
	}
	r.off = end + 1
	raw := r.src[from:end]
	if !escaped {
		return raw, true
	}
	s, at, err := unescapeJSON((*buf)[:0], raw)
	*buf = s
	if err != nil {
		r.failAt(from+at, err)
		return nil, false
	}
	return s, true
}

// stringEnd returns the offset of the quote that ends the string whose content
// starts at from, having checked its characters but not its escapes.
func (r *JSONReader) stringEnd(from int) (end int, escaped, ok bool) {
	ascii := true
	for i := from; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			return i, escaped, ascii || r.validUTF8(from, i)
		case c == '\\':
			escaped = true
			i++ // the next byte, even a quote, belongs to the escape
		case c < ' ':
			r.failAt(i, fmt.Errorf("control character 0x%02x in a string: write it as an escape", c))
			return 0, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	r.Fail(errors.New("a string has no closing quote"))
	return 0, false, false
}

// validUTF8 fails at the first byte of a string that is not UTF-8.
func (r *JSONReader) validUTF8(from, end int) bool {
	s := r.src[from:end]
	if utf8.Valid(s) {
		return true
	}
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		if c == utf8.RuneError && size == 1 {
			r.failAt(from+i, fmt.Errorf("byte 0x%02x in a string is not UTF-8", s[i]))
			break
		}
		i += size
	}
	return false
}

// unescapeJSON appends the content of a string with its escapes resolved. On
// error it returns where in raw the bad escape starts.
func unescapeJSON(dst, raw []byte) (out []byte, at int, err error) {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			n := bytes.IndexByte(raw[i:], '\\')
			if n < 0 {
				n = len(raw) - i
			}
			dst = append(dst, raw[i:i+n]...)
			i += n
			continue
		}
		c, size, err := unescapeOne(raw[i:])
		if err != nil {
			return dst, i, err
		}
		dst = utf8.AppendRune(dst, c)
		i += size
	}
	return dst, 0, nil
}

const (
	escapeLetters = `"\/bfnrt`
	escapeMeaning = "\"\\/\b\f\n\r\t"
)

// unescapeOne resolves the escape that raw starts with.
func unescapeOne(raw []byte) (c rune, size int, err error) {
	if len(raw) < 2 {
		return 0, 0, errors.New("escape is cut off")
	}
	if raw[1] == 'u' {
		return unescapeUnicode(raw)
	}
	i := strings.IndexByte(escapeLetters, raw[1])
	if i < 0 {
		return 0, 0, fmt.Errorf("unknown escape: '\\' before %s", quoteJSON(raw[1]))
	}
	return rune(escapeMeaning[i]), 2, nil
}

// unescapeUnicode resolves \uXXXX, or two of them that are a surrogate pair.
func unescapeUnicode(raw []byte) (c rune, size int, err error) {
	c, ok := hex4(raw)
	if !ok {
		return 0, 0, errors.New(`\u needs four hexadecimal digits`)
	}
	if !utf16.IsSurrogate(c) {
		return c, 6, nil
	}
	low, ok := hex4(raw[6:])
	if pair := utf16.DecodeRune(c, low); ok && pair != utf8.RuneError {
		return pair, 12, nil
	}
	return 0, 0, fmt.Errorf(`\u%04x is half of a surrogate pair`, c)
}

// hex4 reads \uXXXX.
func hex4(raw []byte) (c rune, ok bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	for _, d := range raw[2:6] {
		switch {
		case isDigit(d):
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		c = c<<4 | rune(d)
	}
	return c, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
