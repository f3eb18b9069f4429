package lint

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// Lengths of texts that people read from the beginning to the end.
const (
	readmeLines    = 120
	guideLeast     = 60
	guideMost      = 150
	decisionsWords = 300
)

// checkPages holds README.md, the pages of docs/guide and those of docs/decisions to their lengths, and each page of the guide to a picture.
func checkPages(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if text := pageFault(f); text != "" {
			found = append(found, Finding{f.Path, 0, text})
		}
	}
	return found
}

func pageFault(f *File) string {
	switch match := func(pattern string) bool { ok, _ := path.Match(pattern, f.Path); return ok }; {
	case f.Path == "README.md" && f.Lines() > readmeLines:
		return fmt.Sprintf("%d lines, at most %d: what does not decide whether to use volley goes to docs/guide", f.Lines(), readmeLines)
	case match("docs/guide/*.md") && (f.Lines() < guideLeast || f.Lines() > guideMost):
		return fmt.Sprintf("%d lines, a page of the guide has %d to %d", f.Lines(), guideLeast, guideMost)
	case match("docs/guide/*.md") && !strings.Contains(string(f.Source), "\n!["):
		return "a page of the guide has a picture"
	case match("docs/decisions/*.md") && words(f) > decisionsWords:
		return fmt.Sprintf("%d words, a decision has at most %d", words(f), decisionsWords)
	}
	return ""
}

// words counts what has a letter or a digit.
func words(f *File) int {
	n := 0
	for _, w := range strings.Fields(string(f.Source)) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}
