package distributed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exported are a package's exported functions, and methods as Type.Method.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					of := d.Recv.List[0].Type
					if p, ok := of.(*ast.StarExpr); ok {
						of = p.X
					}
					if of, ok := of.(*ast.Ident); ok {
						name = of.Name + "." + name
					}
				}
				found[name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							found[n.Name] = true
						}
					}
					if v, ok := s.(*ast.TypeSpec); ok {
						found[v.Name.Name] = true
					}
				}
			}
		}
	}
	return found
}

// TestOperatorsPage: the Go names that docs/operators.md gives are there.
func TestOperatorsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/operators.md")
	require.NoError(t, err)
	folders := map[string]string{"table": "table", "distributed": "distributed", "collective": "collective", "kernels": "kernels", "storage": "table/storage", "dataloader": "dataloader"}
	names := map[string]map[string]bool{}
	seen := 0
	for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z.]*)`").FindAllStringSubmatch(string(page), -1) {
		if m[1] == "vo" { // of Python, which a test there holds
			continue
		}
		folder, ok := folders[m[1]]
		require.True(t, ok, "%s names a package that is not known here", m[0])
		if names[folder] == nil {
			names[folder] = exported(t, folder)
		}
		require.True(t, names[folder][m[2]], "%s is not there", m[0])
		seen++
	}
	require.Greater(t, seen, 50)
	require.False(t, strings.Contains(string(page), "\t"))
}
