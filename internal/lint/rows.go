package lint

import "fmt"

// checkRows holds the tables Packages and Modules against the packages that exist.
func checkRows(t *Tree) []Finding {
	if t.File("internal/lint/packages.go") == nil {
		return nil // the tables are of another tree
	}
	return rowsAgainst(t, Packages, Modules)
}

// rowsAgainst finds rows, and places in rows of modules, that cover no package of the tree. Such a row permits imports that nobody has
// weighed, to whoever makes a package of that name later.
func rowsAgainst(t *Tree, packages []Package, modules []Module) []Finding {
	var existing []string
	for _, f := range t.Files {
		if f.Syntax != nil && !f.Nested {
			existing = append(existing, f.Package())
		}
	}
	covers := func(pattern string) bool {
		for _, pkg := range existing {
			if matches(pattern, pkg) {
				return true
			}
		}
		return false
	}
	var found []Finding
	for _, row := range packages {
		if !covers(row.Path) {
			found = append(found, Finding{"internal/lint/packages.go", 0,
				fmt.Sprintf("%s has a row in the table Packages, but no package: take the row out", row.Path)})
		}
	}
	for _, m := range modules {
		for _, pattern := range join(m.In, m.Tests) {
			if !covers(pattern) {
				found = append(found, Finding{"internal/lint/modules.go", 0,
					fmt.Sprintf("the table Modules permits %s in %s, which is no package", m.Path, pattern)})
			}
		}
	}
	return found
}
