package gen_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen/internal/testmod"
)

// TestBrokenSources leaves out each token of a package in turn. Whatever is
// missing, the run ends, and a package that generated code could not be made for
// is told why.
func TestBrokenSources(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"heartbeat", "aliases", "wiring"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile("../golden/gen/" + name + "/in.go")
			if err != nil {
				t.Fatal(err)
			}
			withoutTokens(t, source)
		})
	}
}

func withoutTokens(t *testing.T, source []byte) {
	t.Helper()
	dir := testmod.New(t, "")
	variants := withoutEachToken(source)
	for i, variant := range variants {
		testmod.Write(t, dir, fmt.Sprintf("-- v%04d/in.go --\n%s", i, variant))
	}
	result := run(t, dir, "./...")
	told := make(map[string]bool)
	for _, d := range result.Diagnostics {
		if d.Fix == "" || d.Pos.Line == 0 {
			t.Errorf("%v has no fix or no position", d)
		}
		told[filepath.Base(filepath.Dir(d.Pos.Filename))] = true
	}
	if len(told) < len(variants)/2 {
		t.Errorf("%d variants, and only %d have diagnostics", len(variants), len(told))
	}
}

func withoutEachToken(source []byte) []string {
	fset := token.NewFileSet()
	file := fset.AddFile("in.go", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var variants []string
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return variants
		}
		if lit == "\n" {
			continue // inserted by the scanner
		}
		if lit == "" {
			lit = tok.String()
		}
		at := file.Offset(pos)
		variants = append(variants, string(source[:at])+strings.TrimPrefix(string(source[at:]), lit))
	}
}
