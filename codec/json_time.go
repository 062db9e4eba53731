package codec

import (
	"fmt"
	"time"
)

// Time reads a string in RFC 3339 and returns the instant in UTC. Digits beyond
// the nanoseconds are dropped; leap seconds and lower-case letters are errors.
func (r *JSONReader) Time() time.Time {
	s, ok := r.text("RFC 3339 time")
	if !ok {
		return time.Time{}
	}
	var t time.Time
	if !shapedRFC3339(s) || t.UnmarshalText(s) != nil {
		r.Fail(fmt.Errorf("want RFC 3339 time, got %q", shorten(s)))
		return time.Time{}
	}
	return t.UTC()
}

// shapedRFC3339 tells whether s has the form that RFC 3339 asks for. Package
// time checks the ranges, but takes a comma for the point, hours of one digit
// and zones of any size.
func shapedRFC3339(s []byte) bool {
	const seconds = "0000-00-00T00:00:00"
	if len(s) <= len(seconds) || !shaped(s[:len(seconds)], seconds) {
		return false
	}
	s = s[len(seconds):]
	if s[0] == '.' {
		end := skipDigits(s, 1)
		if end == 1 {
			return false
		}
		s = s[end:]
	}
	if string(s) == "Z" {
		return true
	}
	return (shaped(s, "+00:00") || shaped(s, "-00:00")) && string(s[1:3]) < "24" && string(s[4:]) < "60"
}

// shaped tells whether s equals form but for the digits, where form has zeros.
func shaped(s []byte, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i, c := range s {
		if form[i] == '0' && !isDigit(c) || form[i] != '0' && form[i] != c {
			return false
		}
	}
	return true
}
