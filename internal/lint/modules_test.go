package lint

import "testing"

func TestModules(t *testing.T) {
	table := []Module{{Path: "x.org/a/v2", In: []string{"bench/..."}, Tests: []string{"table"}}}
	tree := load(t, map[string]string{
		"bench/report/a.go": "package report\n\nimport (\n\t\"fmt\"\n\t\"x.org/a/v2/sub\"\n)\n",
		"table/a.go":        "package table\n\nimport \"x.org/a/v2\"\n",
		"table/a_test.go":   "package table\n\nimport \"x.org/a/v2\"\n",
		"expr/a.go":         "package expr\n\nimport \"x.org/a/v20\"\n",
		"memory/a.go":       "package memory\n\nimport _ \"x.org/a/v2/sub/deeper\"\n",
		"tool/go.mod":       "module tool\n",
		"tool/a.go":         "package main\n\nimport \"anything.org/b\"\n",
	})
	expect(t, modulesAgainst(tree, table),
		"expr/a.go:3: x.org/a/v20 is of no module",
		"memory/a.go:3: memory may not import x.org/a/v2/sub/deeper",
		"table/a.go:3: table may not import x.org/a/v2",
	)
}

// TestModulesNameKnownPackages finds rows that name a package which the table of packages does not know.
func TestModulesNameKnownPackages(t *testing.T) {
	for _, m := range Modules {
		for _, pattern := range join(m.In, m.Tests) {
			known := false
			for _, row := range Packages {
				known = known || row.Path == pattern || matches(pattern, row.Path)
			}
			if !known {
				t.Errorf("%s is permitted in %s, which has no row in Packages", m.Path, pattern)
			}
		}
	}
}
