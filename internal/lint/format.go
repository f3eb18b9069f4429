package lint

import (
	"bytes"
	"go/format"
)

// checkFormat finds Go files that gofmt would change.
func checkFormat(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Syntax == nil {
			continue
		}
		want, err := format.Source(f.Source)
		if err != nil {
			found = append(found, Finding{Path: f.Path, Text: err.Error()})
			continue
		}
		if !bytes.Equal(want, f.Source) {
			found = append(found, Finding{f.Path, firstDifference(f.Source, want), "not formatted: run gofmt -w"})
		}
	}
	return found
}

// firstDifference returns the first line, from 1, in which the two texts differ.
func firstDifference(a, b []byte) int {
	line := 1
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
