package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRows(t *testing.T) {
	tree := load(t, map[string]string{
		"memory/a.go":       "package memory\n",
		"interop/old/a.go":  "package old\n",
		"bench/a_test.go":   "package bench\n",
		"tool/go.mod":       "module tool\n",
		"tool/a.go":         "package main\n",
		"docs/gone/page.md": "# No package\n",
	})
	packages := []Package{{Path: "memory"}, {Path: "memory/deep"}, {Path: "interop/..."}, {Path: "interop"}, {Path: "bench"}, {Path: "tool"}, {Path: "docs/..."}}
	modules := []Module{
		{Path: "x.org/a", In: []string{"memory", "flow"}, Tests: []string{"..."}},
		{Path: "x.org/b", In: []string{"interop/..."}, Tests: []string{"pilot/..."}},
	}
	var texts []string
	for _, f := range rowsAgainst(tree, packages, modules) {
		texts = append(texts, f.String())
	}
	row := func(path string) string {
		return "internal/lint/packages.go: " + path + " has a row in the table Packages, but no package: take the row out"
	}
	require.Equal(t, []string{
		row("memory/deep"), row("interop"), row("tool"), row("docs/..."),
		"internal/lint/modules.go: the table Modules permits x.org/a in flow, which is no package",
		"internal/lint/modules.go: the table Modules permits x.org/b in pilot/..., which is no package",
	}, texts)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, pkg string
		want         bool
	}{
		{"...", "memory", true},
		{"...", ".", true},
		{".", "memory", false},
		{"memory", "memory/deep", false},
		{"memory/...", "memory", true},
		{"memory/...", "memory/deep", true},
		{"memory/...", "memorydeep", false},
	} {
		require.Equal(t, c.want, matches(c.pattern, c.pkg), "%s covers %s", c.pattern, c.pkg)
	}
}
