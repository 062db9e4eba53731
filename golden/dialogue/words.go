package dialogue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// form reads and shows values of one type.
type form[T any] struct {
	read func(word string) (T, error)
	show func(T) string
}

var (
	text    = form[string]{read: func(s string) (string, error) { return s, nil }, show: showText}
	number  = form[int64]{read: func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }, show: func(n int64) string { return strconv.FormatInt(n, 10) }}
	instant = form[time.Time]{read: parseInstant, show: showInstant}
	place   = form[Place]{read: readPlace, show: func(p Place) string { return fmt.Sprintf("%s/%d", p.City, p.Floor) }}
	// optional is a number or "nil".
	optional = form[*int64]{read: readOptional, show: showOptional}
	// profile is name:tag,tag:note, the last two may be missing.
	profile = form[Profile]{read: readProfile, show: showProfile}
)

// start is the instant that others are shown relative to.
var start = time.Unix(0, 0).UTC()

// showInstant shows an instant as the time since [start].
func showInstant(t time.Time) string { return t.Sub(start).String() }

func parseInstant(s string) (time.Time, error) {
	d, err := time.ParseDuration(s)
	return start.Add(d), err
}

// instantOf reads an instant. One that begins with '+' or '-' is relative to now.
func instantOf(ctx clock, s string) (time.Time, error) {
	d, err := time.ParseDuration(s)
	if s[0] == '+' || s[0] == '-' {
		return ctx.ProcessingTime().Add(d), err
	}
	return start.Add(d), err
}

func showText(s string) string {
	if quoted := strconv.Quote(s); s == "" || quoted != `"`+s+`"` || strings.Contains(s, " ") {
		return quoted
	}
	return s
}

func readPlace(s string) (Place, error) {
	city, floor, ok := strings.Cut(s, "/")
	if !ok {
		return Place{}, errors.New("want city/floor")
	}
	n, err := strconv.ParseInt(floor, 10, 8)
	return Place{City: city, Floor: int8(n)}, err
}

func readOptional(s string) (*int64, error) {
	if s == "nil" {
		return nil, nil
	}
	n, err := number.read(s)
	return &n, err
}

func showOptional(n *int64) string {
	if n == nil {
		return "nil"
	}
	return number.show(*n)
}

func readProfile(s string) (Profile, error) {
	parts := strings.SplitN(s, ":", 3)
	p := Profile{Name: parts[0]}
	if len(parts) > 1 {
		p.Tags = strings.Split(parts[1], ",")
		p.Home = &Home{City: "home of " + p.Name, Rooms: []Place{{City: "kitchen"}}}
	}
	if len(parts) > 2 {
		p.Note = &parts[2]
	}
	return p, nil
}

func showProfile(p Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%s tags=%v", p.Name, p.Tags)
	if p.Note != nil {
		fmt.Fprintf(&b, " note=%s", *p.Note)
	}
	if p.Home != nil {
		fmt.Fprintf(&b, " home=%s %v", p.Home.City, p.Home.Rooms)
	}
	return b.String() + "}"
}

// spoil writes into everything that the profile refers to.
func (p Profile) spoil() {
	for i := range p.Tags {
		p.Tags[i] = "SPOILT"
	}
	if p.Note != nil {
		*p.Note = "SPOILT"
	}
	if p.Home != nil {
		p.Home.City = "SPOILT"
		p.Home.Rooms[0].City = "SPOILT"
	}
}

// showAll shows values side by side, "none" if there are none.
func showAll[T any](all []T, show func(T) string) string {
	if len(all) == 0 {
		return "none"
	}
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = show(v)
	}
	return strings.Join(words, " ")
}

// split takes a command apart into words. A word in double quotes is a Go
// string.
func split(command string) ([]string, error) {
	var words []string
	for rest := strings.TrimSpace(command); rest != ""; rest = strings.TrimLeft(rest, " ") {
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", command, err)
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", command, err)
			}
			words, rest = append(words, word), rest[len(quoted):]
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		words, rest = append(words, word), after
	}
	if len(words) < 1 {
		return nil, errors.New("empty command")
	}
	return words, nil
}
