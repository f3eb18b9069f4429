package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/expr"
)

// page reads a page of docs/reference.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference", name))
	require.NoError(t, err)
	return string(text)
}

// variable finds variables of the environment as programs name them: a text of Go and Python, a dollar of shells.
var variable = map[string]*regexp.Regexp{
	".go": regexp.MustCompile(`"(VOLLEY_[A-Z0-9_]+)"`),
	".py": regexp.MustCompile(`environ[^#\n]*["'](VOLLEY_[A-Z0-9_]+)["']`),
	".sh": regexp.MustCompile(`\$\{(VOLLEY_[A-Z0-9_]+):`), // with something in the place of one that is not set
}

// internal are variables by which a script tells its own children something.
var internal = []string{"VOLLEY_JOB", "VOLLEY_ROUND"}

// variablesOf finds the variables that the code reads, tests aside.
func variablesOf(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name[0] == '.' || name == "out" || name == "testdata" || name == "venv" || name == "tests") {
				return filepath.SkipDir
			}
			return nil
		}
		pattern := variable[filepath.Ext(name)]
		if pattern == nil || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range pattern.FindAllStringSubmatch(string(source), -1) {
			found[m[1]] = true
		}
		return err
	}))
	for _, name := range internal {
		delete(found, name)
	}
	return slices.Sorted(maps.Keys(found))
}

func TestEnvironmentPage(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(VOLLEY_[A-Z0-9_]+)` \\|").FindAllStringSubmatch(page(t, "environment.md"), -1) {
		require.False(t, listed[m[1]], "%s stands twice", m[1])
		listed[m[1]] = true
	}
	read := variablesOf(t)
	require.Greater(t, len(read), 20)
	require.Equal(t, read, slices.Sorted(maps.Keys(listed)), "docs/reference/environment.md and the variables that the code reads")
}

// TestRulesOfTheOptimiser holds the page, and the rules that the tests of Python switch off one by one, against those of Go.
func TestRulesOfTheOptimiser(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(text)
	}
	word := regexp.MustCompile("[\"`]([a-z]+)[\"`]")
	words := func(pattern, text string) (all []string) {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(t, found, pattern)
		for _, m := range word.FindAllStringSubmatch(found[1], -1) {
			all = append(all, m[1])
		}
		return all
	}
	source := read("table/optimise.go")
	named := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(rule[A-Za-z]+)\s*= "([a-z]+)"`).FindAllStringSubmatch(source, -1) {
		named[m[1]] = m[2]
	}
	var rules []string
	list := regexp.MustCompile(`(?m)^var rules = \[\]string\{(.*)\}$`).FindStringSubmatch(source)
	require.NotNil(t, list)
	for _, constant := range strings.Split(list[1], ", ") {
		require.Contains(t, named, constant)
		rules = append(rules, named[constant])
	}
	require.Len(t, named, len(rules), "a rule that is not among rules cannot be switched off")
	require.Equal(t, rules, words(`(?m)^RULES = \[(.*)\]$`, read("python/tests/test_plans.py")), "python/tests/test_plans.py")
	require.Equal(t, rules, words("(?m)^\\| `VOLLEY_OPTIMISER` \\|.*Switches rules of the optimiser off: (.*) \\(see", page(t, "environment.md")), "docs/reference/environment.md")
}

// TestErrorsPage holds the page against the kinds of Go, the exceptions of Python and the statuses of C.
func TestErrorsPage(t *testing.T) {
	text := page(t, "errors.md")
	for _, source := range []struct {
		file, pattern, format string
		least                 int
	}{
		{"device/errors.go", `(?m)^\s(Err[A-Z]\w+) += `, "`device.%`", 8},
		{"table/storage/errors.go", `(?m)^var (Err[A-Z]\w+) = `, "`storage.%`", 1},
		{"python/volley/errors.py", `(?m)^class (\w+)\(VolleyError`, "`%`", 13},
		{"cgo/include/volley.h", `(?m)^  (VOLLEY_[A-Z_]+) = -?\d+,? +/\*|^  (VOLLEY_OUT_OF_MEMORY|VOLLEY_OK) = `, "`%`", 10},
	} {
		code, err := os.ReadFile(filepath.Join(root, source.file))
		require.NoError(t, err)
		names := regexp.MustCompile(source.pattern).FindAllStringSubmatch(string(code), -1)
		require.GreaterOrEqual(t, len(names), source.least, source.file)
		for _, m := range names {
			name := m[len(m)-1] + m[1]
			if len(m) == 2 {
				name = m[1]
			}
			if strings.HasPrefix(name, "VOLLEY_VALIDATE_") {
				continue
			}
			require.Contains(t, text, strings.ReplaceAll(source.format, "%", name), source.file)
		}
	}
}

// TestTypesPage casts to each type that the page names.
func TestTypesPage(t *testing.T) {
	text := page(t, "types.md")
	names := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(text, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			_, err := expr.Parse("cast(x as " + name[1] + ")")
			require.NoError(t, err, name[1])
			names++
		}
	}
	require.Greater(t, names, 20)
	sql := regexp.MustCompile("(?m)^SQL's names work in `cast` too: (.*)\\.$").FindStringSubmatch(text)
	require.NotNil(t, sql)
	for _, name := range strings.Split(sql[1], ", ") {
		_, err := expr.Parse("cast(x as " + strings.Trim(name, "`") + ")")
		require.NoError(t, err, name)
	}
}
