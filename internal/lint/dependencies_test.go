package lint

import "testing"

func TestDependencies(t *testing.T) {
	tree := load(t, map[string]string{
		"go.mod": `module m

go 1.25.0

require a.org/listed v1.2.3

require (
	a.org/missing v0.1.0
	a.org/moved v2.0.0 // a comment
	a.org/far v1.0.0 // indirect
)
`,
		"internal/tools/go.mod": `module tools

tool (
	b.org/tool/cmd/check
)

require b.org/tool v0.7.0 // indirect
`,
		"docs/dependencies.md": "# Dependencies\n\n| module | version | where | why |\n| --- | --- | --- | --- |\n" +
			"| `a.org/listed` | v1.2.3 | table | speed |\n| a.org/moved | v1.9.0 | table | speed |\n| a.org/gone | v1.0.0 | table | speed |\n",
	})
	expect(t, checkDependencies(tree),
		"docs/dependencies.md:6: a.org/moved is at v2.0.0 in go.mod",
		"docs/dependencies.md:7: a.org/gone is required nowhere",
		"go.mod:8: a.org/missing has no row",
		"internal/tools/go.mod:7: b.org/tool has no row",
	)
}

func TestDependenciesWithoutATable(t *testing.T) {
	tree := load(t, map[string]string{"go.mod": "module m\nrequire a.org/b v1.0.0\n"})
	expect(t, checkDependencies(tree), "go.mod:2: a.org/b has no row")
}
