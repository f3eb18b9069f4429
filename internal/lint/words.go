package lint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// obscure are turns that make a reader look twice for the subject; CONTRIBUTING.md has what to write instead.
var obscure = regexp.MustCompile(`(?i)\b(comes? to|of which|(?:is|are) told|none of)\b`)

// checkWords finds obscure turns in README.md, docs/guide and docs/reference, code aside.
func checkWords(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		guide, _ := path.Match("docs/guide/*.md", f.Path)
		reference, _ := path.Match("docs/reference/*.md", f.Path)
		if f.Path != "README.md" && !guide && !reference {
			continue
		}
		fenced := false
		for i, line := range strings.Split(string(f.Source), "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if turn := obscure.FindString(line); turn != "" && !fenced {
				found = append(found, Finding{f.Path, i + 1, fmt.Sprintf("%q: say it with a subject and a verb, see CONTRIBUTING.md", turn)})
			}
		}
	}
	return found
}
