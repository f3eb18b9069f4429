package lint

import (
	"fmt"
	"go/ast"
)

// Panic is one row of the table of permitted panics.
type Panic struct {
	Path   string // the file, relative to the module's root
	Func   string // the function, or Type.Method, whose body may call panic
	Reason string // why no caller of an exported function ever meets it
}

// Panics lists the functions outside tests that may call panic. A row needs a reason, and goes when its panic goes.
var Panics = []Panic{
	{Path: "table/storage/arena.go", Func: "arena.take",
		Reason: "arrow-go's allocators have no error to return; every call into its decoders and encoders is guarded and turns this typed panic into the allocator's error"},
	{Path: "flow/flowtest/source.go", Func: "source.meet", Reason: "the kit's source panics to see that a query's error comes of it"},
}

// checkPanics finds calls of panic outside tests: no panic crosses an exported function, errors are values.
func checkPanics(t *Tree) []Finding { return panicsAgainst(t, Panics) }

func panicsAgainst(t *Tree, table []Panic) []Finding {
	var found []Finding
	used := make(map[int]bool)
	for _, f := range t.Files {
		if f.Syntax == nil || f.Test {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			name := declName(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isIdent(call.Fun, "panic") {
					return true
				}
				if row := findPanic(table, f.Path, name); row >= 0 {
					used[row] = true
					return true
				}
				found = append(found, Finding{f.Path, t.line(call.Pos()),
					fmt.Sprintf("panic in %s: return an error, or give a row with a reason to the table Panics of internal/lint/panics.go", name)})
				return true
			})
		}
	}
	for i, row := range table {
		if !used[i] {
			found = append(found, Finding{Path: row.Path, Text: fmt.Sprintf("%s does not panic: take its row out of the table Panics", row.Func)})
		} else if row.Reason == "" {
			found = append(found, Finding{Path: row.Path, Text: fmt.Sprintf("%s: its row in the table Panics has no reason", row.Func)})
		}
	}
	return found
}

func findPanic(table []Panic, path, name string) int {
	for i, row := range table {
		if row.Path == path && row.Func == name {
			return i
		}
	}
	return -1
}

// declName names a declaration as the tables do: Func, Type.Method, or "a package variable".
func declName(decl ast.Decl) string {
	fn, ok := decl.(*ast.FuncDecl)
	if !ok {
		return "a package variable"
	}
	if recv := receiver(fn); recv != "" {
		return recv + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// receiver returns the name of a method's type without its pointer and type parameters, or "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	typ := fn.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.ParenExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && id.Name == name
}
