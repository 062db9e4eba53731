package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/tws-go/tws/gen"
)

// explain prints what a diagnostic means, or the list of all.
func (c *command) explain(args []string) (int, error) {
	if len(args) == 0 {
		for _, e := range gen.Catalogue() {
			if _, err := fmt.Fprintf(c.stdout, "%s  %s\n", e.Code, e.Title); err != nil {
				return exitUsage, err
			}
		}
		return exitOK, nil
	}
	var text strings.Builder
	for i, arg := range args {
		e, ok := gen.Explain(strings.Trim(arg, "[]:"))
		if !ok {
			return exitUsage, fmt.Errorf("there is no diagnostic %s; \"tws-gen explain\" lists all", arg)
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "%s: %s\n\n%s\n", e.Code, e.Title, strings.TrimSpace(e.Text))
	}
	_, err := io.WriteString(c.stdout, text.String())
	return exitOK, err
}
