package table

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

func TestRefusedColumns(t *testing.T) {
	t.Parallel()
	deep := schemas.Type{Kind: schemas.Int64}
	for range maxDepth {
		deep = listOf(deep)
	}
	tests := []struct {
		name    string
		columns []schemas.Field
		want    string
	}{
		{"none", nil, "needs at least one column"},
		{"no name", fields("", schemas.Int64), "a column of the row has no name"},
		{"forbidden character", fields("a b", schemas.Int64), `the name of column a b contains ' '`},
		{"nested forbidden character", fields("s", structOf("S", fields("a=b", schemas.Int64))), `column s.a=b contains '='`},
		{"differ in case", fields("ID", schemas.Int64, "id", schemas.Int64), "columns ID and id differ only in case"},
		{"empty struct", fields("s", structOf("S", nil)), "column s is a struct without fields"},
		{"unknown kind", fields("s", schemas.Kind("map")), `column s has the unknown type "map"`},
		{"list of nothing", fields("s", schemas.List), "column s is a list without an element type"},
		{"too deep", fields("s", deep), "nested more than 50 levels"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := testStore(t).Open(context.Background(), stream.TableSpec{Name: "alerts", Columns: test.columns}, unit("c", "f"))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "table: alerts: ") {
				t.Fatalf("Open: %v, want %q", err, test.want)
			}
		})
	}
}

// A schema written to the log is the same schema when it is read.
func TestSchemaStringRoundTrip(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		row, err := rowOf(newGenerator(seed).columns())
		if err != nil {
			t.Fatal(err)
		}
		text, err := schemaString(row)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parseSchema(text)
		if err != nil {
			t.Fatal(err)
		}
		none := func(*column) bool { return false }
		if diffs := append(differences(row, parsed, none), differences(parsed, row, none)...); len(diffs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, diffs, text)
		}
		again, err := schemaString(parsed)
		if err != nil {
			t.Fatal(err)
		}
		if again != text {
			t.Fatalf("seed %d: written again it is different:\n%s\n%s", seed, text, again)
		}
	}
}

func TestParseSchemaRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"array","elementType":`, 60) + `"long"` + strings.Repeat(`}`, 60)
	tests := map[string]string{
		``:         "unexpected end",
		`"long"`:   "the row is of type long, not a struct",
		`{"a":1}`:  "a type has no name",
		`{"type":`: "unexpected end",
		`{"type":"struct","fields":[{"name":"a"}]}`:                     `field "a"`,
		`{"type":"struct","fields":[]}`:                                 "not a struct",
		`{"type":"struct","fields":[{"name":"a","type":` + deep + `}]}`: "nested more than 50",
	}
	for text, want := range tests {
		if _, err := parseSchema(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseSchema(%s): %v, want %q", text, err, want)
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	inner := func(k schemas.Kind) schemas.Type { return structOf("S", fields("x", k)) }
	tests := []struct {
		name       string
		want, have []schemas.Field
		diffs      []string
	}{
		{"same", fields("a", schemas.Int64), fields("a", schemas.Int64), nil},
		{"order", fields("a", schemas.Int64, "b", schemas.Bool), fields("b", schemas.Bool, "a", schemas.Int64), nil},
		{"same in the table", fields("a", schemas.Uint8), fields("a", schemas.Int16), nil},
		{"gone", fields("a", schemas.Int64, "b", schemas.Bool), fields("a", schemas.Int64), []string{"column b (boolean) is not in the table"}},
		{"added", fields("a", schemas.Int64), fields("a", schemas.Int64, "b", schemas.Bool), []string{"column b (boolean) of the table is not in the row type"}},
		{"case", fields("A", schemas.Int64), fields("a", schemas.Int64), []string{"column A (long) is not in the table", "column a (long) of the table is not in the row type"}},
		{"type", fields("a", schemas.Int64), fields("a", schemas.String), []string{"column a is string in the table and long in the row type"}},
		{"duration", fields("a", schemas.Duration), fields("a", schemas.Int64), []string{"column a is long in the table and long (duration) in the row type"}},
		{"shape", fields("a", listOf(inner(schemas.Int64))), fields("a", inner(schemas.Int64)), []string{"column a is struct<x:long> in the table and array<struct<x:long>> in the row type"}},
		{"nested", fields("a", listOf(inner(schemas.Int64))), fields("a", listOf(inner(schemas.Bool))), []string{"column a[].x is boolean in the table and long in the row type"}},
		{
			"nulls in a list", fields("a", listOf(schemas.Type{Kind: schemas.Bool, Optional: true})), fields("a", listOf(schemas.Type{Kind: schemas.Bool})),
			[]string{"column a[] accepts no nulls in the table"},
		},
		{"no nulls needed", fields("a", listOf(schemas.Type{Kind: schemas.Bool})), fields("a", listOf(schemas.Type{Kind: schemas.Bool, Optional: true})), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want, err := rowOf(test.want)
			if err != nil {
				t.Fatal(err)
			}
			made, err := rowOf(test.have)
			if err != nil {
				t.Fatal(err)
			}
			text, err := schemaString(made)
			if err != nil {
				t.Fatal(err)
			}
			have, err := parseSchema(text)
			if err != nil {
				t.Fatal(err)
			}
			got := differences(want, have, func(*column) bool { return false })
			if diff := cmp.Diff(test.diffs, got); diff != "" {
				t.Fatalf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
