package kafka

import (
	"slices"
	"strings"
	"sync"
)

// maxSecrets bounds what is remembered: files are replaced and tokens expire.
const maxSecrets = 16

// secrets are those that are not settings but were read from files, or came from an
// authorization server: the newest, for messages that must not show them.
type secrets struct {
	mu  sync.Mutex
	all []string
}

func (s *secrets) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.all, text) {
		return
	}
	if len(s.all) == maxSecrets {
		s.all = slices.Delete(s.all, 0, 1)
	}
	s.all = append(s.all, text)
}

// redact replaces secrets in a text.
func (s *secrets) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.all {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
