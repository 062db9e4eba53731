package main

import (
	"fmt"
	"strings"

	"github.com/tws-go/tws/gen"
)

// explain prints what a diagnostic means, or the list of all.
func (c *command) explain(args []string) (int, error) {
	if len(args) == 0 {
		for _, e := range gen.Catalogue() {
			fmt.Fprintf(c.stdout, "%s  %s\n", e.Code, e.Title)
		}
		return exitOK, nil
	}
	for i, arg := range args {
		e, ok := gen.Explain(strings.Trim(arg, "[]:"))
		if !ok {
			return exitUsage, fmt.Errorf("there is no diagnostic %s; \"tws-gen explain\" lists all", arg)
		}
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		fmt.Fprintf(c.stdout, "%s: %s\n\n%s\n", e.Code, e.Title, strings.TrimSpace(e.Text))
	}
	return exitOK, nil
}
