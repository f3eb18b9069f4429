package lint

import (
	"fmt"
	"strings"
)

// Module is one row of the table of other people's modules.
type Module struct {
	Path  string   // of the module; "golang.org/x/sys" covers its packages
	In    []string // the packages of this module that may import it
	Tests []string // packages whose test files may import it besides
}

// Modules says which package may use which dependency. What is not listed is the standard library's work; docs/dependencies.md gives the
// reason for each row.
var Modules = []Module{
	{Path: "github.com/apache/arrow-go/v18", In: []string{"memory", "device/...", "kernels/...", "expr", "flow/...", "table/...",
		"collective/columns", "collective/ondevice", "distributed", "gang", "dataloader", "interop/...", "cgo", "bench/...", "cmd/volley", "examples/...", ".", "internal/guard"},
		Tests: []string{"collective/faultinject", "internal/guide"}}, // columns under faults
	{Path: "github.com/apache/arrow/go/v15", In: []string{"interop/arrow15"}},
	{Path: "golang.org/x/sys", In: []string{"memory", "device/...", "collective/transport/...", "dataloader/order", "internal/crc32c", "internal/dl",
		"internal/guard", "internal/numa", "internal/pastcopy", "internal/pastsum", "internal/rowcopy", "internal/tier", "kernels/cpu", "table/storage", "bench/...", "cmd/volley"}},
	{Path: "github.com/klauspost/compress", In: []string{"table/storage"}},
	{Path: "github.com/pierrec/lz4/v4", In: []string{"table/storage"}},
	{Path: "github.com/klauspost/cpuid/v2", In: []string{"device/host", "kernels/cpu", "collective/transport/..."}},
	{Path: "github.com/ebitengine/purego", In: []string{"internal/dl"}},
	{Path: "github.com/go-gl/cl", In: []string{"device/opencl"}},
	{Path: "gorgonia.org/cu", In: []string{"device/cuda"}},
	{Path: "gonum.org/v1/gonum", In: []string{"interop/gonum", "bench/..."}, Tests: []string{"internal/guide"}},
	{Path: "golang.org/x/image", In: []string{"bench/..."}},
	{Path: "github.com/go-echarts/go-echarts/v2", In: []string{"bench/..."}},
	{Path: "github.com/spf13/cobra", In: []string{"cmd/volley"}},
	{Path: "github.com/spf13/pflag", In: []string{"cmd/volley"}},
	{Path: "github.com/prometheus/client_golang", In: []string{"collective/metrics"}},
	{Path: "github.com/schollz/progressbar/v3", In: []string{"bench/...", "cmd/volley"}},
	{Path: "golang.org/x/term", In: []string{"bench/...", "cmd/volley"}},
	{Path: "github.com/stretchr/testify", In: []string{"flow/flowtest"}, Tests: []string{"..."}}, // no user of the library links it; flowtest is a kit of tests
}

// checkModules holds the imports of other people's packages against the table Modules.
func checkModules(t *Tree) []Finding { return modulesAgainst(t, Modules) }

func modulesAgainst(t *Tree, table []Module) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.Syntax == nil || f.Nested {
			continue
		}
		for _, spec := range f.Syntax.Imports {
			if text := moduleFault(f, table, importPath(spec)); text != "" {
				found = append(found, Finding{f.Path, t.line(spec.Pos()), text})
			}
		}
	}
	return found
}

func moduleFault(f *File, table []Module, imported string) string {
	if _, own := withinModule(imported); own || isStandard(imported) {
		return ""
	}
	for _, m := range table {
		if !matches(m.Path+"/...", imported) {
			continue
		}
		in := m.In
		if f.Test {
			in = join(m.In, m.Tests)
		}
		for _, pattern := range in {
			if matches(pattern, f.Package()) {
				return ""
			}
		}
		return fmt.Sprintf("%s may not import %s: the table Modules of internal/lint/modules.go keeps %s out of it", f.Package(), imported, m.Path)
	}
	return fmt.Sprintf("%s is of no module in the table Modules of internal/lint/modules.go", imported)
}

// isStandard reports whether the import is of the standard library: its first element has no dot. "C" counts too; checkImports sees to it.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
