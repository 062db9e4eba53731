package app

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// screen is standard error. Its last lines may be live: they are rewritten in
// place, and what is written goes above them. Its methods are safe for
// concurrent use.
type screen struct {
	w       io.Writer
	columns func() int

	mu    sync.Mutex
	drawn int // live lines that are on the screen, the cursor below them
	live  []string
}

// Write implements io.Writer for whole lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.erase() + string(p) + s.draw()
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show replaces the live lines.
func (s *screen) show(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.erase()
	s.live = lines
	// Progress that cannot be shown is no reason to stop a pipeline.
	_, _ = io.WriteString(s.w, text+s.draw())
}

// keep leaves the live lines where they are, as lines like any other.
func (s *screen) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.drawn = nil, 0
}

// erase returns what takes the live lines off the screen.
func (s *screen) erase() string {
	if s.drawn == 0 {
		return ""
	}
	n := s.drawn
	s.drawn = 0
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", n)
}

// draw returns what puts the live lines on the screen.
func (s *screen) draw() string {
	var text strings.Builder
	// The last column stays free: some terminals wrap when it is written.
	width := s.columns() - 1
	for _, l := range s.live {
		text.WriteString(cut(l, width) + "\n")
	}
	s.drawn = len(s.live)
	return text.String()
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	if width < 1 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
