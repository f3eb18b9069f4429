package lint

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

// checkImports holds the imports between the module's own packages, and of "C", against the table Packages.
func checkImports(t *Tree) []Finding { return importsAgainst(t, Packages) }

func importsAgainst(t *Tree, table []Package) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Syntax == nil || f.Nested {
			continue
		}
		row := findRow(table, f.Package())
		if row == nil {
			found = append(found, Finding{f.Path, t.line(f.Syntax.Package),
				fmt.Sprintf("package %q has no row in the table Packages of internal/lint/packages.go: add one", f.Package())})
			continue
		}
		for _, spec := range f.Syntax.Imports {
			if text := importFault(f, row, importPath(spec)); text != "" {
				found = append(found, Finding{f.Path, t.line(spec.Pos()), text})
			}
		}
	}
	return found
}

// importFault says why the file of the given row may not import the path, or returns "".
func importFault(f *File, row *Package, imported string) string {
	if imported == "C" {
		if row.Cgo {
			return ""
		}
		return `import "C": only cgo/ may use cgo, everything else builds with CGO_ENABLED=0`
	}
	target, own := withinModule(imported)
	if !own || target == f.Package() { // an external test imports the package it tests
		return ""
	}
	may := row.May
	if f.Test {
		may = join(row.May, row.Tests, testKits)
	}
	for _, pattern := range may {
		if matches(pattern, target) {
			return ""
		}
	}
	return fmt.Sprintf("%s may not import %s: the table Packages of internal/lint/packages.go permits no such edge", f.Package(), target)
}

// findRow returns the row of a package: the one that names it, else the longest pattern that covers it, else nil.
func findRow(table []Package, pkg string) *Package {
	var best *Package
	for i := range table {
		row := &table[i]
		if row.Path == pkg {
			return row
		}
		if matches(row.Path, pkg) && (best == nil || len(row.Path) > len(best.Path)) {
			best = row
		}
	}
	return best
}

// matches reports whether pattern, a path, "x/..." or "..." for all, covers the package.
func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

// withinModule returns the path relative to the module's root, and whether the import is one of the module's own packages.
func withinModule(imported string) (string, bool) {
	if imported == ModulePath {
		return ".", true
	}
	return strings.CutPrefix(imported, ModulePath+"/")
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}
