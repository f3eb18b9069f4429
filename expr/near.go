package expr

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Near are those of names that are spelt much like name, the nearest first, at
// most three: by edit distance over letters in lower case.
func Near(name string, names []string) []string {
	type scored struct {
		name     string
		distance int
	}
	var found []scored
	limit := max(1, utf8.RuneCountInString(name)/3)
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if d <= limit || len(name) >= 3 && strings.Contains(strings.ToLower(n), strings.ToLower(name)) {
			found = append(found, scored{n, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].distance < found[j].distance })
	var near []string
	for _, f := range found[:min(3, len(found))] {
		near = append(near, f.name)
	}
	return near
}

// nearText is "; did you mean a or b?", or nothing.
func nearText(name string, names []string) string {
	near := Near(name, names)
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}

// distance is the number of letters to insert, leave out, change or swap with
// the next to turn a into b (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := last[j-1]
			if x[i-1] != y[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
