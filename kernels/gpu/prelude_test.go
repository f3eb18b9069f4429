package gpu

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// definedIn are the macros and types that a header defines.
func definedIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+)|^typedef .*\b(\w+);|^FN \w+ (\w+)\(`).FindAllStringSubmatch(string(text), -1) {
		names[m[1]+m[2]+m[3]] = true
	}
	return names
}

// The preludes define the same names, but for the warps of one of them, and
// docs/dialect.md names none that is not there.
func TestPreludes(t *testing.T) {
	opencl, cuda := definedIn(t, "../opencl/prelude.h"), definedIn(t, "../cuda/prelude.h")
	warp := []string{"LANE", "BALLOT", "SHUFFLE", "SHUFFLE_UP", "SHUFFLE_XOR"}
	for name := range cuda {
		if !opencl[name] && !slices.Contains(warp, name) {
			t.Errorf("the prelude of OpenCL has no %s", name)
		}
	}
	for name := range opencl {
		if !cuda[name] {
			t.Errorf("the prelude of CUDA has no %s", name)
		}
	}
	known := definedIn(t, "src/dialect.h")
	for name := range cuda {
		known[name] = true
	}
	doc, err := os.ReadFile("../../docs/dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, names, _ := strings.Cut(string(doc), "\n| names | what |\n")
	names, _, _ = strings.Cut(names, "\n\n")
	found := 0
	for _, m := range regexp.MustCompile("`([A-Za-z][A-Z0-9_a-z]+)[(`]").FindAllStringSubmatch(names, -1) {
		name := m[1]
		if name == strings.ToLower(name) && !strings.Contains(name, "_at") {
			continue // C's own
		}
		found++
		if !known[name] {
			t.Errorf("docs/dialect.md speaks of %s, which is not defined", name)
		}
	}
	if found < 30 {
		t.Errorf("only %d names found in docs/dialect.md", found)
	}
}
