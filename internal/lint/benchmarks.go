package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// checkBenchmarks finds names of sub-benchmarks that benchstat cannot split into keys and values: each part between slashes is key=value. It
// looks at what the source spells out; a name that is computed as a whole is not looked at.
func checkBenchmarks(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Syntax == nil {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 || !isBenchmark(call.Args[1]) {
				return true
			}
			name, spelled := spelling(call.Args[0])
			if !spelled {
				return true
			}
			for part := range strings.SplitSeq(name, "/") {
				if !strings.Contains(part, "=") {
					found = append(found, Finding{f.Path, t.line(call.Pos()), fmt.Sprintf("part %q of a benchmark's name is no key=value", part)})
					break
				}
			}
			return true
		})
	}
	return found
}

// isBenchmark reports whether an expression is a function that takes a *testing.B alone.
func isBenchmark(e ast.Expr) bool {
	fn, ok := e.(*ast.FuncLit)
	if !ok || len(fn.Type.Params.List) != 1 {
		return false
	}
	star, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "B"
}

var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

// spelling is the text of an expression as far as the source spells it out, with ? for the rest, and whether it spells out any.
func spelling(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, some := spelling(e.X)
		right, more := spelling(e.Y)
		return left + right, some || more
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(sel.Sel.Name, "Sprint") || len(e.Args) == 0 {
			return "?", false
		}
		text, ok := spelling(e.Args[0])
		if sel.Sel.Name == "Sprintf" {
			text = strings.ReplaceAll(verb.ReplaceAllString(text, "?"), "%%", "%")
		}
		return text, ok
	}
	return "?", false
}
