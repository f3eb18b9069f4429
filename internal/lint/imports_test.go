package lint

import (
	"strings"
	"testing"
)

func TestImports(t *testing.T) {
	source := func(pkg string, imports ...string) string {
		text := "package " + pkg + "\n"
		for _, i := range imports {
			text += "import \"" + i + "\"\n"
		}
		return text
	}
	own := func(p string) string { return ModulePath + "/" + p }
	tree := load(t, map[string]string{
		"memory/up.go":          source("memory", "fmt", own("device")),
		"memory/memory_test.go": source("memory_test", own("memory"), own("internal/guard"), own("device")),
		"device/a.go":           source("device", own("memory"), "C"),
		"device/cuda/a.go":      source("cuda", own("device"), own("device/opencl")),
		"kernels/a.go":          source("kernels", own("internal/guard")),
		"kernels/a_test.go":     source("kernels_test", own("kernels"), own("kernels/cpu"), own("internal/guard"), own("kernels/kerneltest")),
		"cgo/a.go":              source("main", "C", ModulePath, own("table")),
		"dataloader/a.go":       source("dataloader", own("collective")),
		"table/a.go":            source("table", ModulePath),
		"bench/peers/a.go":      source("peers", own("bench"), own("cmd/volley"), own("internal/guard"), own("table/storage")),
		"cmd/volley/a.go":       source("main", ModulePath, own("bench/flights"), own("cgo")),
		"newcomer/a.go":         source("newcomer"),
		"kernels/cpu/deep/a.go": source("deep"),
		"tool/go.mod":           "module tool\n",
		"tool/a.go":             source("main", own("table")),
	})
	expect(t, checkImports(tree),
		"bench/peers/a.go:3: bench/peers may not import cmd/volley",
		"cmd/volley/a.go:4: cmd/volley may not import cgo",
		"dataloader/a.go:2: dataloader may not import collective",
		`device/a.go:3: only cgo/ may use cgo`,
		"device/cuda/a.go:3: device/cuda may not import device/opencl",
		"kernels/a.go:2: kernels may not import internal/guard",
		`kernels/cpu/deep/a.go:1: "kernels/cpu/deep" has no row in the table Packages`,
		"memory/memory_test.go:4: memory may not import device",
		"memory/up.go:3: memory may not import device",
		`newcomer/a.go:1: "newcomer" has no row in the table Packages`,
		"table/a.go:2: table may not import .",
	)
}

// TestPackagesPointUp holds the table itself to its rule: a row permits only rows above it, or its own subtree, each row stands once.
func TestPackagesPointUp(t *testing.T) {
	above := make(map[string]bool)
	for _, row := range Packages {
		if above[row.Path] {
			t.Errorf("%s has two rows", row.Path)
		}
		for _, may := range row.May {
			if !above[may] && (may != row.Path || !strings.HasSuffix(may, "/...")) {
				t.Errorf("%s may import %s, which does not stand above it", row.Path, may)
			}
		}
		above[row.Path] = true
	}
	for _, row := range Packages {
		for _, test := range join(row.Tests, testKits) {
			if !above[test] {
				t.Errorf("tests of %s may import %s, which has no row", row.Path, test)
			}
		}
	}
}

func TestFindRowPrefersTheExactRow(t *testing.T) {
	table := []Package{{Path: "a/..."}, {Path: "a/b/..."}, {Path: "a/b/c"}}
	for pkg, want := range map[string]string{"a": "a/...", "a/x": "a/...", "a/b": "a/b/...", "a/b/c": "a/b/c", "a/b/c/d": "a/b/..."} {
		if row := findRow(table, pkg); row == nil || row.Path != want {
			t.Errorf("%s is covered by %v, want %s", pkg, row, want)
		}
	}
	if row := findRow(table, "ab"); row != nil {
		t.Errorf("ab is covered by %s", row.Path)
	}
}
