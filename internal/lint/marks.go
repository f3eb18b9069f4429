package lint

import (
	"bytes"
	"regexp"
)

// unfinished matches the words that mark unfinished work. They are put together here so that this file does not contain them.
var unfinished = regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|` + "XX" + `X)\b`)

// checkMarks finds marks of unfinished work in any source or text: what is not done is not in the tree.
func checkMarks(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		for i, line := range bytes.Split(f.Source, []byte("\n")) {
			if m := unfinished.Find(line); m != nil {
				found = append(found, Finding{f.Path, i + 1, string(m) + ": finish it or leave it out"})
			}
		}
	}
	return found
}
