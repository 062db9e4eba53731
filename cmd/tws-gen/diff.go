package main

import (
	"fmt"
	"strings"
)

// context lines around a change.
const diffContext = 3

// unifiedDiff returns the difference between two versions of a file, "" if there
// is none. A version that is nil does not exist.
func unifiedDiff(name string, before, after []byte) string {
	a, b := lines(before), lines(after)
	edits := diffLines(a, b)
	from, to := "a/"+name, "b/"+name
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	var out strings.Builder
	for i := 0; i < len(edits); {
		if edits[i].kind == ' ' {
			i++
			continue
		}
		start := max(0, i-diffContext)
		end, same := i, 0
		for end < len(edits) && same <= 2*diffContext {
			if edits[end].kind == ' ' {
				same++
			} else {
				same = 0
			}
			end++
		}
		end -= max(0, same-diffContext)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		}
		writeHunk(&out, edits[start:end])
		i = end
	}
	return out.String()
}

// edit is a line that both versions have (' '), or one of them ('-', '+'), with
// the numbers of the next lines on either side.
type edit struct {
	kind byte
	text string
	a, b int
}

func writeHunk(out *strings.Builder, hunk []edit) {
	var inA, inB int
	for _, e := range hunk {
		if e.kind != '+' {
			inA++
		}
		if e.kind != '-' {
			inB++
		}
	}
	first := hunk[0]
	fmt.Fprintf(out, "@@ -%s +%s @@\n", hunkRange(first.a, inA), hunkRange(first.b, inB))
	for _, e := range hunk {
		out.WriteByte(e.kind)
		out.WriteString(e.text)
		if !strings.HasSuffix(e.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func hunkRange(line, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", line)
	}
	return fmt.Sprintf("%d,%d", line+1, count)
}

func lines(content []byte) []string {
	split := strings.SplitAfter(string(content), "\n")
	if split[len(split)-1] == "" {
		split = split[:len(split)-1]
	}
	return split
}

// diffLines finds the shortest edit from a to b (Myers 1986).
func diffLines(a, b []string) []edit {
	n, m := len(a), len(b)
	limit := n + m
	reach := make([]int, 2*limit+2) // furthest x on each diagonal
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach[limit-d:limit+d+2]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && reach[limit+k-1] < reach[limit+k+1] {
				x = reach[limit+k+1]
			} else {
				x = reach[limit+k-1] + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			if reach[limit+k] = x; x >= n && x-k >= m {
				return backtrack(a, b, trace)
			}
		}
	}
	return nil
}

// backtrack follows the trace from the end to the beginning. trace[d] holds the
// diagonals -d to d+1 as they were before step d.
func backtrack(a, b []string, trace [][]int) []edit {
	var reversed []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		at := func(k int) int { return trace[d][k+d] }
		k := x - y
		previous := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			previous = k + 1
		}
		px := at(previous)
		py := px - previous
		for x > px && y > py {
			x, y = x-1, y-1
			reversed = append(reversed, edit{' ', a[x], x, y})
		}
		if x > px {
			x--
			reversed = append(reversed, edit{'-', a[x], x, y})
		} else {
			y--
			reversed = append(reversed, edit{'+', b[y], x, y})
		}
	}
	for x > 0 {
		x, y = x-1, y-1
		reversed = append(reversed, edit{' ', a[x], x, y})
	}
	edits := make([]edit, len(reversed))
	for i, e := range reversed {
		edits[len(edits)-1-i] = e
	}
	return edits
}
