package app

import (
	"fmt"
	"strings"
)

// helpWidth is the width that help is wrapped at, for any terminal.
const helpWidth = 80

// helpText returns a command's help.
func (c *command) helpText(binary string) string {
	var h helpPage
	h.paragraph(c.about)
	h.title("Usage")
	h.line("  " + strings.Join(c.usage(binary), " "))
	var rows []noteLine
	for _, sub := range c.commands {
		rows = append(rows, noteLine{strings.Join(append([]string{sub.name}, sub.args...), " "), sub.short})
	}
	h.section("Commands", rows)
	h.section("Flags", c.optionLines())
	for _, n := range c.notes {
		h.section(n.title, n.lines)
	}
	h.examples(binary, c.examples)
	if len(c.commands) > 0 {
		h.line("")
		h.paragraph(fmt.Sprintf("'%s COMMAND --help' says more about a command.", strings.Join(nonEmpty(binary, c.path), " ")))
	}
	return h.String()
}

func (c *command) usage(binary string) []string {
	words := nonEmpty(binary, c.path)
	if len(c.commands) > 0 {
		words = append(words, "COMMAND")
	}
	words = append(words, c.args...)
	if len(c.options) > 0 {
		words = append(words, "[flags]")
	}
	return words
}

func (c *command) optionLines() []noteLine {
	var lines []noteLine
	for _, o := range c.options {
		lines = append(lines, noteLine{strings.Join(nonEmpty("--"+o.name, o.value), " "), o.about})
	}
	return append(lines, noteLine{"--help", "print this help"})
}

func nonEmpty(words ...string) []string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// helpPage is help being written.
type helpPage struct{ strings.Builder }

func (h *helpPage) line(text string) { h.WriteString(text + "\n") }

func (h *helpPage) title(text string) { h.line("\n" + text + ":") }

func (h *helpPage) paragraph(text string) {
	for _, l := range wrap(text, helpWidth) {
		h.line(l)
	}
}

// section writes terms on the left and what they mean on the right, or below
// where a term is long.
func (h *helpPage) section(title string, rows []noteLine) {
	if len(rows) == 0 {
		return
	}
	h.title(title)
	const longTerm = 22
	column := 0
	for _, r := range rows {
		if len(r.term) <= longTerm {
			column = max(column, len(r.term))
		}
	}
	indent := strings.Repeat(" ", column+4)
	for _, r := range rows {
		head := fmt.Sprintf("  %-*s  ", column, r.term)
		if len(r.term) > column {
			h.line(strings.TrimRight(head, " "))
			head = indent
		}
		for _, l := range wrap(r.text, helpWidth-len(indent)) {
			h.line(head + l)
			head = indent
		}
	}
}

func (h *helpPage) examples(binary string, examples []example) {
	if len(examples) == 0 {
		return
	}
	h.title("Examples")
	for _, e := range examples {
		h.line("  # " + e.about)
		h.line("  " + binary + " " + e.line)
	}
}

// wrap breaks text between words into lines of at most width bytes, where words
// allow.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
