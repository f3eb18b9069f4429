package lint

import (
	"fmt"
	"sort"
	"strings"
)

// The limits on a hand-written file, in lines: one subject per file, and a file that can be read in one sitting.
const (
	maxLines     = 600
	maxTestLines = 800
)

// checkLength finds hand-written files that are too long.
func checkLength(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Generated || !isCode(f.Path) {
			continue
		}
		limit := maxLines
		if f.Test || isTestScript(f.Path) {
			limit = maxTestLines
		}
		if n := f.Lines(); n > limit {
			found = append(found, Finding{f.Path, limit + 1, fmt.Sprintf("%d lines, the limit is %d: split it by subject", n, limit)})
		}
	}
	return found
}

func isTestScript(name string) bool {
	return strings.HasSuffix(name, "_test.py") || strings.Contains(name, "/test_") && strings.HasSuffix(name, ".py")
}

// Lengths describes the lengths of the hand-written Go files: how many there are, the median, the ninetieth percentile and the longest.
type Lengths struct {
	Files, Median, P90, Max int
	Longest                 string
}

// MeasureLengths returns the lengths of the tree's hand-written Go files, either of the tests or of the others. The zero value means that
// there is none.
func MeasureLengths(t *Tree, tests bool) Lengths {
	var l Lengths
	var lines []int
	for _, f := range t.Files {
		if f.Syntax == nil || f.Generated || f.Test != tests {
			continue
		}
		n := f.Lines()
		lines = append(lines, n)
		if n > l.Max {
			l.Max, l.Longest = n, f.Path
		}
	}
	if len(lines) == 0 {
		return l
	}
	sort.Ints(lines)
	l.Files, l.Median, l.P90 = len(lines), lines[len(lines)/2], lines[len(lines)*9/10]
	return l
}
