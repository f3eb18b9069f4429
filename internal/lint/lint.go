// Package lint holds the rules of the house and checks the whole module against them.
//
// A rule is a function from a Tree (every source file below the module's root, read once) to findings. The rules are data in Rules, the
// permitted imports are data in Packages and Modules, the permitted panics are data in Panics: to change what is permitted, edit a table
// and say why in its row. The package's test runs every rule over the module's own files, so that `go test ./internal/lint` is the linter;
// each rule also has a test on a bad snippet held in memory, because a check that cannot fail checks nothing.
//
// Only the standard library is used: nothing has to be installed to run it.
package lint

import (
	"fmt"
	"sort"
)

// ModulePath is the import path of the module under check.
const ModulePath = "github.com/volley-go/volley"

// Finding is one breach of one rule.
type Finding struct {
	Path string // relative to the module's root, with forward slashes
	Line int    // counted from 1; 0 when the finding is about the whole file
	Text string // what is wrong and what to do about it
}

// String returns the finding in the compiler's form, path:line: text.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// Rule is one check over the whole tree.
type Rule struct {
	Name  string
	Check func(*Tree) []Finding
}

// Rules lists every rule, in the order in which they are reported.
var Rules = []Rule{
	{"format", checkFormat},
	{"imports", checkImports},
	{"rows", checkRows},
	{"modules", checkModules},
	{"dependencies", checkDependencies},
	{"length", checkLength},
	{"folders", checkFolders},
	{"docs", checkDocs},
	{"generated", checkGenerated},
	{"panics", checkPanics},
	{"exits", checkExits},
	{"skips", checkSkips},
	{"scripts", checkScripts},
	{"benchmarks", checkBenchmarks},
	{"marks", checkMarks},
	{"links", checkLinks},
	{"pages", checkPages},
	{"words", checkWords},
}

// Check runs every rule over t and returns the findings by the name of the rule, each list in order of path and line.
func Check(t *Tree) map[string][]Finding {
	all := make(map[string][]Finding)
	for _, r := range Rules {
		if found := r.Check(t); len(found) > 0 {
			sortFindings(found)
			all[r.Name] = found
		}
	}
	return all
}

func sortFindings(found []Finding) {
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].Path != found[j].Path {
			return found[i].Path < found[j].Path
		}
		return found[i].Line < found[j].Line
	})
}
