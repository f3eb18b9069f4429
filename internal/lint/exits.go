package lint

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// checkExits finds calls outside tests that end the process or panic through the log: only a program's own main package decides to stop.
func checkExits(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Syntax == nil || f.Test || isProgram(f) {
			continue
		}
		names := importNames(f.Syntax)
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			if from := names[pkg.Name]; endsProcess(from, sel.Sel.Name) {
				found = append(found, Finding{f.Path, t.line(sel.Pos()), fmt.Sprintf("%s.%s in a library: return an error", from, sel.Sel.Name)})
			}
			return true
		})
	}
	return found
}

// programFolders hold the programs: the last ones are those that scripts run.
var programFolders = []string{"cmd/", "examples/", "cgo/", "internal/cuemu/build/", "internal/ncclemu/build/", "internal/ptxgen/", "internal/capigen/", "internal/licenses/", "internal/guide/", "internal/typecheck/", "bench/gpu/", "bench/pipeline/"}

// isProgram reports whether the file is of a main package in one of the folders of programs.
func isProgram(f *File) bool {
	inFolder := f.Nested
	for _, folder := range programFolders {
		inFolder = inFolder || strings.HasPrefix(f.Path, folder)
	}
	return inFolder && f.Syntax.Name.Name == "main"
}

func endsProcess(pkg, name string) bool {
	switch pkg {
	case "os":
		return name == "Exit"
	case "syscall":
		return name == "Exit"
	case "runtime":
		return name == "Goexit"
	case "log":
		return strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic")
	}
	return false
}

// importNames maps the names under which a file knows its imports to their paths.
func importNames(file *ast.File) map[string]string {
	names := make(map[string]string)
	for _, spec := range file.Imports {
		p := importPath(spec)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
	}
	return names
}
