package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

// The reference lists the keys that there are, and its examples can be read.
func TestReference(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	_, section, _ := strings.Cut(page, "### Keys of a cluster\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var listed []string
	for line := range strings.Lines(section) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			cell, _, _ = strings.Cut(cell, " | ")
			for _, key := range regexp.MustCompile("[a-z_.]+`").FindAllString(cell, -1) {
				listed = append(listed, strings.TrimSuffix(key, "`"))
			}
		}
	}
	slices.Sort(listed)
	var keys []string
	for _, k := range stream.Keys() {
		keys = append(keys, k.Name)
	}
	if !slices.Equal(listed, keys) {
		t.Errorf("the page lists %q, the keys are %q", listed, keys)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 4 {
		t.Fatalf("the page has %d examples", len(blocks))
	}
	for _, b := range blocks {
		c, text, err := load(t, b[1], "KAFKA_PASSWORD=x", "API_KEY=x", "API_SECRET=x", "EVENT_HUBS_CONNECTION_STRING=Endpoint=sb://x/;k=v")
		if err != nil || c.Clusters["main"]["brokers"] == "" {
			t.Errorf("%s\nin the example:\n%s", text, b[1])
		}
		if strings.Contains(b[1], "$ConnectionString") && c.Clusters["main"]["sasl.username"] != "$ConnectionString" {
			t.Errorf("the user of Event Hubs is read as %s", c.Clusters["main"]["sasl.username"])
		}
	}
}
