package dialogue_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const reference = "../../docs/reference/"

// sources are the tests that name cases and rules.
var sources = []string{"testdata/*.txt", "*_test.go", "../../runtime/*_test.go", "../../runtime/internal/engine/*_test.go",
	"../../runtime/stream/kafka/*_test.go", "../../runtime/stream/file/*_test.go", "../../runtime/table/*_test.go",
	"../../runtime/checkpoint/*_test.go", "../../runtime/app/*_test.go", "../kafka/*_test.go", "../crash/*_test.go"}

var (
	caseNumber  = regexp.MustCompile(`\b[CB]-\d+`)
	ruleNumber  = regexp.MustCompile(`\bS-\d+`)
	caseRow     = regexp.MustCompile(`(?m)^\| ([CB]-\d+) \|.*\| ([^|]*) \|$`)
	rule        = regexp.MustCompile(`(?m)^\*\*(S-\d+)\*\*`)
	testName    = regexp.MustCompile("`([^`]+)`")
	testComment = regexp.MustCompile(`(?m)^\s*//.*$|^#.*$`)
)

// files returns the content of all sources by path.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range sources {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, path := range paths {
			if path == "docs_test.go" || path == "script_test.go" {
				continue // these speak of numbers in general
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(data)
		}
	}
	return all
}

func readReference(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(reference + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mentioned returns what the comments of the sources match.
func mentioned(all map[string]string, what *regexp.Regexp) map[string]bool {
	found := map[string]bool{}
	for _, text := range all {
		for _, comment := range testComment.FindAllString(text, -1) {
			for _, number := range what.FindAllString(comment, -1) {
				found[number] = true
			}
		}
	}
	return found
}

// The page of conformance lists the cases that tests name, each with tests that
// exist, and with those dialogues that name it.
func TestConformancePage(t *testing.T) {
	t.Parallel()
	all := files(t)
	listed := map[string]bool{}
	for _, row := range caseRow.FindAllStringSubmatch(readReference(t, "conformance.md"), -1) {
		number := row[1]
		if listed[number] {
			t.Errorf("%s is listed twice", number)
		}
		listed[number] = true
		tests := testName.FindAllStringSubmatch(row[2], -1)
		if len(tests) == 0 {
			t.Errorf("%s has no test", number)
		}
		for _, test := range tests {
			if !covers(all, test[1], number) {
				t.Errorf("%s: there is no %s that names it", number, test[1])
			}
		}
	}
	named := mentioned(all, caseNumber)
	for number := range named {
		if !listed[number] {
			t.Errorf("%s is tested but not listed", number)
		}
	}
	for number := range listed {
		if !named[number] {
			t.Errorf("%s is listed but not tested", number)
		}
	}
}

// covers reports whether a test names a case: a dialogue in a comment, a Go test in
// the comment above it.
func covers(all map[string]string, test, number string) bool {
	if text, ok := all["testdata/"+test+".txt"]; ok {
		return slices.Contains(caseNumber.FindAllString(text, -1), number)
	}
	for _, text := range all {
		before, _, ok := strings.Cut(text, "\nfunc "+test+"(")
		if !ok {
			continue
		}
		comment := before[strings.LastIndex(before, "\n\n")+1:]
		if slices.Contains(caseNumber.FindAllString(comment, -1), number) {
			return true
		}
	}
	return false
}

// Every rule that a test names is in the page of semantics, and rules are numbered
// in order.
func TestSemanticsPage(t *testing.T) {
	t.Parallel()
	var rules []string
	for _, m := range rule.FindAllStringSubmatch(readReference(t, "semantics.md"), -1) {
		rules = append(rules, m[1])
	}
	if len(rules) == 0 || !slices.IsSorted(rules) || len(slices.Compact(slices.Clone(rules))) != len(rules) {
		t.Errorf("the rules are not in order: %q", rules)
	}
	for _, number := range slices.Sorted(maps.Keys(mentioned(files(t), ruleNumber))) {
		if !slices.Contains(rules, number) {
			t.Errorf("%s is tested but is no rule", number)
		}
	}
}
