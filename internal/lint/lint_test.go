package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// moduleRoot returns the nearest folder above the working directory whose go.mod declares ModulePath.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+ModulePath+"\n") {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatalf("no go.mod of %s above the working directory", ModulePath)
		}
		dir = up
	}
}

// TestHouse is the linter: every rule over every file of the module.
func TestHouse(t *testing.T) {
	tree, err := Load(os.DirFS(moduleRoot(t)))
	if err != nil {
		t.Fatal(err)
	}
	if tree.File("internal/lint/lint_test.go") == nil {
		t.Fatal("the walk over the module did not come past this file")
	}
	all := Check(tree)
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range all[rule.Name] {
				t.Error(f)
			}
		})
	}
	for _, tests := range []bool{false, true} {
		l := MeasureLengths(tree, tests)
		t.Logf("lines of hand-written Go files (tests: %t): %d files, median %d, 90%% at most %d, longest %d (%s)",
			tests, l.Files, l.Median, l.P90, l.Max, l.Longest)
	}
}

// load makes a tree of files held in memory.
func load(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	fsys := make(fstest.MapFS)
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// expect fails unless the findings, in order, each contain the wanted text ("path:line: part of the text").
func expect(t *testing.T, found []Finding, want ...string) {
	t.Helper()
	sortFindings(found)
	for i, f := range found {
		if i >= len(want) {
			t.Errorf("more than was asked for: %s", f)
			continue
		}
		where, what, _ := strings.Cut(want[i], ": ")
		if got := f.String(); !strings.HasPrefix(got, where+": ") || !strings.Contains(got, what) {
			t.Errorf("found %q, want %q", got, want[i])
		}
	}
	for _, w := range want[min(len(found), len(want)):] {
		t.Errorf("missed %q", w)
	}
}

func TestCheckNamesTheRule(t *testing.T) {
	tree := load(t, map[string]string{"memory/a.go": "// Package memory is here.\npackage memory\n\nfunc f() { panic(1) }\n"})
	all := Check(tree)
	if len(all) != 1 {
		t.Errorf("findings of %d rules, want those of one: %v", len(all), all)
	}
	want := []string{"memory/a.go:4: panic in f"}
	for _, row := range Panics { // the tree has none of their files
		want = append(want, row.Path+": "+row.Func+" does not panic")
	}
	slices.Sort(want)
	expect(t, all["panics"], want...)
}

func TestCheckRunsEveryRule(t *testing.T) {
	mark := "XX" + "X"
	files := map[string]string{
		"go.mod": "module m\nrequire a.b/c v1.0.0\n",
		"kernels/a.go": "package kernels\nimport (\n\"log\"\n\"" + ModulePath + "/table\"\n\"x.y/z\"\n)\n" +
			"// " + mark + "\nfunc Exported() { panic(1); log.Fatal(2) }\n" + strings.Repeat("\n", maxLines),
		"kernels/a_test.go": "package kernels\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip() }\n" +
			"func BenchmarkA(b *testing.B) { b.Run(\"sum\", func(b *testing.B) {}) }\n",
		"kernels/b.go":              string(markStart) + " somehow\npackage kernels\n",
		"internal/lint/packages.go": "package lint\n",
		"scripts/a.sh":              "go test -run TestGone\n",
		"docs/guide/a.md":           "[nowhere](b.md), none of it\n",
	}
	for i := range maxFiles + 1 {
		files[fmt.Sprintf("crowded/a%d.c", i)] = "int x;\n"
	}
	all := Check(load(t, files))
	for _, r := range Rules {
		if len(all[r.Name]) == 0 {
			t.Errorf("rule %s finds nothing in a tree that breaks every rule", r.Name)
		}
	}
}

func TestFindingString(t *testing.T) {
	if got := (Finding{"a/b.go", 7, "bad"}).String(); got != "a/b.go:7: bad" {
		t.Error(got)
	}
	if got := (Finding{Path: "a/b.go", Text: "bad"}).String(); got != "a/b.go: bad" {
		t.Error(got)
	}
}
