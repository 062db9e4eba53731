package tws

import "testing"

type tableRow struct{ N int }

var tableOne, tableTwo StreamingTable[tableRow]

// A pipeline knows tables by address, so two of the same row type must differ.
func TestTablesOfOneRowTypeAreDistinct(t *testing.T) {
	t.Parallel()
	p := NewPipeline(Options{})
	AddTable(p, &tableOne, TableOptions{Name: "one"})
	AddTable(p, &tableTwo, TableOptions{Name: "two"})
	if one, two := tableOne.targetName(p), tableTwo.targetName(p); one != "table one" || two != "table two" {
		t.Errorf("the tables are called %q and %q", one, two)
	}
}
