package lint

import (
	"fmt"
	"strings"
)

// dependencyTable is the text whose table gives each dependency with its version, place and reason.
const dependencyTable = "docs/dependencies.md"

// checkDependencies holds the table of dependencies against the module files: a row for each module that is required directly, by the
// module or by its tools, with the same version, and no row for a module that nothing requires.
func checkDependencies(t *Tree) []Finding {
	var found []Finding
	listed, table := make(map[string]row), t.File(dependencyTable)
	if table != nil {
		listed = tableRows(string(table.Source))
	}
	known := make(map[string]bool)
	for _, f := range t.Files {
		if f.Path != "go.mod" && !strings.HasSuffix(f.Path, "/go.mod") {
			continue
		}
		for _, r := range requirements(string(f.Source)) {
			known[r.module] = true
			have, ok := listed[r.module]
			switch {
			case r.indirect:
			case !ok:
				found = append(found, Finding{f.Path, r.line, fmt.Sprintf("%s has no row in %s: give its version, place and reason", r.module, dependencyTable)})
			case have.version != r.version:
				found = append(found, Finding{dependencyTable, have.line, fmt.Sprintf("%s is at %s in %s", r.module, r.version, f.Path)})
			}
		}
	}
	for module, r := range listed {
		if !known[module] {
			found = append(found, Finding{dependencyTable, r.line, fmt.Sprintf("%s is required nowhere: take the row out", module)})
		}
	}
	return found
}

type row struct {
	version string
	line    int
}

// tableRows reads the rows "| module | version | …" of a Markdown table; the module is recognised by the dot in its first element.
func tableRows(text string) map[string]row {
	rows := make(map[string]row)
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.TrimSpace(cells[0]) != "" {
			continue
		}
		module := strings.Trim(cells[1], " `")
		if strings.Contains(module, "/") && !isStandard(module) {
			rows[module] = row{strings.Trim(cells[2], " `"), i + 1}
		}
	}
	return rows
}

type requirement struct {
	module, version string
	indirect        bool
	line            int
}

// requirements reads the require directives of a go.mod file. A tool's own module counts as required directly although go.mod marks it
// indirect.
func requirements(text string) []requirement {
	var reqs []requirement
	var tools []string
	block := ""
	for i, line := range strings.Split(text, "\n") {
		code, comment, _ := strings.Cut(line, "//")
		fields := strings.Fields(code)
		switch {
		case len(fields) == 0:
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
			continue
		case fields[0] == ")":
			block = ""
			continue
		case block != "":
			fields = append([]string{block}, fields...)
		}
		if fields[0] == "tool" && len(fields) == 2 {
			tools = append(tools, fields[1])
		}
		if fields[0] == "require" && len(fields) == 3 {
			reqs = append(reqs, requirement{fields[1], fields[2], strings.TrimSpace(comment) == "indirect", i + 1})
		}
	}
	for i := range reqs {
		for _, tool := range tools {
			reqs[i].indirect = reqs[i].indirect && !matches(reqs[i].module+"/...", tool)
		}
	}
	return reqs
}
