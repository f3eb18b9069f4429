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

// collectiveCalls are the exported functions of this package, and methods as Type.Method, that take a context: its operators.
func collectiveCalls(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || !d.Name.IsExported() || len(d.Type.Params.List) == 0 {
				continue
			}
			if first, ok := d.Type.Params.List[0].Type.(*ast.SelectorExpr); !ok || first.Sel.Name != "Context" {
				continue
			}
			name := d.Name.Name
			if d.Recv != nil {
				of := d.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident)
				if !of.IsExported() {
					continue
				}
				name = of.Name + "." + name
			}
			all = append(all, name)
		}
	}
	require.Greater(t, len(all), 30)
	return all
}

// TestOperatorsHaveRows: docs/operators.md names every operator of this package, and the tables of docs/distributed.md say of each what it moves, its order and what is determined.
func TestOperatorsHaveRows(t *testing.T) {
	operators, err := os.ReadFile("../docs/operators.md")
	require.NoError(t, err)
	specification, err := os.ReadFile("../docs/distributed.md")
	require.NoError(t, err)
	short := map[string]string{"WithColumn": "WithColumns", "RenameColumns": "Rename", "WriteParquet": "Write", "WriteCSV": "Write", "WriteIPC": "Write"}
	for _, name := range collectiveCalls(t) {
		if name == "Refuse" { // a part of any of them
			continue
		}
		require.True(t, strings.Contains(string(operators), "`distributed."+name+"`"), "docs/operators.md has no row for %s", name)
		word := name[strings.LastIndex(name, ".")+1:]
		if s := short[word]; s != "" {
			word = s
		}
		for _, heading := range []string{"What moves", "Order", "Determinism"} {
			if heading == "Order" && strings.HasPrefix(word, "Equal") {
				continue // it has no rows
			}
			_, section, found := strings.Cut(string(specification), "\n## "+heading+"\n")
			require.True(t, found, heading)
			section, _, _ = strings.Cut(section, "\n## ")
			has := false
			for _, line := range strings.Split(section, "\n") {
				first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
				has = has || strings.HasPrefix(line, "| ") && regexp.MustCompile(`\b`+word+`\b`).MatchString(first)
			}
			require.True(t, has, "docs/distributed.md, %s, has no row for %s", heading, word)
		}
	}
}

// TestBugsPage: the tests that docs/bugs-of-others.md names are there, and a row without one says why it has none.
func TestBugsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/bugs-of-others.md")
	require.NoError(t, err)
	bugs, tests := 0, 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		numbers := regexp.MustCompile(`#\d+`).FindAllString(cells[0], -1)
		if !strings.HasPrefix(line, "| ") || numbers == nil {
			continue
		}
		require.Len(t, cells, 3, line)
		bugs += len(numbers)
		place, named := "", 0
		for _, m := range regexp.MustCompile("`([^`]+)`|\\b([Tt]est_?[A-Za-z_0-9]+)\\b").FindAllStringSubmatch(cells[2], -1) {
			if m[1] != "" {
				place = filepath.Join("..", filepath.FromSlash(m[1]))
				continue
			}
			require.NotEmpty(t, place, line)
			require.True(t, testIsThere(t, place, m[2]), "%s of %s is not there: %s", m[2], place, line)
			named++
		}
		if named == 0 {
			require.Contains(t, cells[2], "cannot occur", line)
		}
		tests += named
	}
	require.Equal(t, 41, bugs)
	require.Greater(t, tests, 40)
}

// testIsThere reports whether a folder of Go, or a file of Python, has a test of that name.
func testIsThere(t *testing.T, place, name string) bool {
	t.Helper()
	files, text := []string{place}, "\ndef "+name+"("
	if !strings.HasSuffix(place, ".py") {
		var err error
		files, err = filepath.Glob(filepath.Join(place, "*_test.go"))
		require.NoError(t, err)
		text = "\nfunc " + name + "("
	}
	for _, path := range files {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		if strings.Contains(string(source), text) {
			return true
		}
	}
	return false
}
