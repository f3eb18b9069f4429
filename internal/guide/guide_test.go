package main

import (
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository's root as seen from it: samples name files from there.
const root = "."

func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		log.Fatal(err)
	}
	out, err := os.MkdirTemp("", "guide")
	if err != nil {
		log.Fatal(err)
	}
	os.Setenv("OUT", out) // where samples write
	code := m.Run()
	_ = os.RemoveAll(out)
	os.Exit(code)
}

// TestPages holds the committed tests and pictures against the pages.
func TestPages(t *testing.T) {
	files, err := filesOf(root)
	require.NoError(t, err)
	require.Contains(t, files, "internal/guide/page_readme_test.go")
	for name, want := range files {
		have, err := os.ReadFile(name)
		require.NoError(t, err, "make it with %s", command)
		require.Equal(t, want, strings.ReplaceAll(string(have), "\r\n", "\n"), "%s is out of date: %s", name, command)
	}
	committed, err := filepath.Glob("internal/guide/page_*_test.go")
	require.NoError(t, err)
	for _, name := range committed {
		require.Contains(t, files, filepath.ToSlash(name), "its page is gone, or has no sample")
	}
}

// TestCSamples finds the samples in C and C++ word for word in programs that the tests of the C interface compile and run.
func TestCSamples(t *testing.T) {
	text, err := os.ReadFile("docs/guide/c.md")
	require.NoError(t, err)
	blocks, err := blocksOf("c.md", strings.ReplaceAll(string(text), "\r\n", "\n"))
	require.NoError(t, err)
	programs := map[string]string{"c": "cgo/test/guide.c", "cpp": "examples/cpp/example.cpp"}
	seen := map[string]bool{}
	for _, b := range blocks {
		if programs[b.language] == "" {
			continue
		}
		seen[b.language] = true
		program, err := os.ReadFile(programs[b.language])
		require.NoError(t, err)
		require.Contains(t, strings.ReplaceAll(string(program), "\r\n", "\n"), b.code, programs[b.language])
		if b.prints {
			require.Contains(t, string(program), strings.TrimSpace(b.output))
		}
	}
	require.Len(t, seen, len(programs))
}

func TestBlocks(t *testing.T) {
	page := strings.ReplaceAll("Text.\n\n'''go\nx := 1\n'''\n\nIt prints:\n\n'''\n1\n'''\n\n'''\nquoted\n'''\n", "'''", "```")
	blocks, err := blocksOf("p.md", page)
	require.NoError(t, err)
	require.Equal(t, []block{
		{language: "go", code: "x := 1\n", line: 4, output: "1\n", prints: true},
		{code: "quoted\n", line: 14},
	}, blocks)
	for _, bad := range []string{"'''go\nx\n", "It prints:\n'''\n1\n'''\n", "'''go\nx\n'''\nIt prints:\n'''python\n1\n'''\n"} {
		_, err := blocksOf("p.md", strings.ReplaceAll(bad, "'''", "```"))
		require.ErrorContains(t, err, "p.md:")
	}
}

func TestTestOf(t *testing.T) {
	for _, c := range []struct{ name, code, says string }{
		{"syntax", "x := \n", "p.md:7"},
		{"a second function", "package main\n\nfunc main() {}\n\nfunc f() {}\n", "main"},
		{"a name for an import", "package main\n\nimport f \"fmt\"\n\nfunc main() { f.Println() }\n", "plain imports"},
	} {
		_, err := testOf("p.md", "p", []block{{language: "go", code: c.code, line: 7}})
		require.ErrorContains(t, err, c.says, c.name)
	}
	source, err := testOf("p.md", "p", []block{
		{language: "go", code: "fmt.Println(1)\n", line: 3, output: "1\n"},
		{language: "python", code: "print(1)\n", line: 9},
		{language: "go", code: "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"2\") }\n", line: 12, output: "2\n"},
	})
	require.NoError(t, err)
	require.Contains(t, source, "import (\n\t\"fmt\"\n\t\"os\"\n)")
	require.Contains(t, source, "// Output:\n\t// 1\n\t// 2\n}")
	none, err := testOf("p.md", "p", []block{{language: "python", code: "print(1)\n"}})
	require.NoError(t, err)
	require.Empty(t, none)
}
