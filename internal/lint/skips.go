package lint

import (
	"fmt"
	"go/ast"
	"strings"
)

// checkSkips finds tests that skip themselves: what cannot run somewhere is a line in a list that is compared, so that coverage cannot
// shrink unseen. It looks at test kits too, and knows a test by the type of the parameter that Skip is called on.
func checkSkips(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Syntax == nil {
			continue
		}
		tests := testParameters(f.Syntax)
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !isSkip(sel.Sel.Name) {
				return true
			}
			if recv, ok := sel.X.(*ast.Ident); ok && tests[recv.Name] {
				found = append(found, Finding{f.Path, t.line(call.Pos()), fmt.Sprintf("%s.%s: no test skips itself", recv.Name, sel.Sel.Name)})
			}
			return true
		})
	}
	return found
}

func isSkip(name string) bool { return name == "Skip" || name == "Skipf" || name == "SkipNow" }

// testParameters returns the names of a file's parameters that are of one of package testing's types.
func testParameters(file *ast.File) map[string]bool {
	names := make(map[string]bool)
	imports := importNames(file)
	ast.Inspect(file, func(n ast.Node) bool {
		fn, ok := n.(*ast.FuncType)
		if !ok {
			return true
		}
		for _, field := range fn.Params.List {
			typ := field.Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			sel, ok := typ.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && imports[pkg.Name] == "testing" && strings.Contains("T B F TB", sel.Sel.Name) {
				for _, name := range field.Names {
					names[name.Name] = true
				}
			}
		}
		return true
	})
	return names
}
