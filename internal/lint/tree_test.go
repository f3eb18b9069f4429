package lint

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoadChoosesFiles(t *testing.T) {
	tree := load(t, map[string]string{
		"Makefile":               "all:\n",
		".ci/run":                "#!/bin/bash\n",
		".git/hooks.go":          "not Go",
		".github/x.md":           "no",
		"_old/x.go":              "not Go",
		"a/testdata/bad.go":      "not Go",
		"out/x.md":               "no",
		"memory/a.go":            "package memory\n",
		"memory/a_test.go":       "package memory\n",
		"memory/a_windows.go":    "//go:build windows\n\npackage memory\n",
		"memory/picture.png":     "bytes",
		"internal/asmgen/go.mod": "module asmgen\n",
		"internal/asmgen/f/x.go": "package main\n",
		"kernels/cpu/x_amd64.s":  string(markStart) + " by go run x. DO NOT EDIT.\n",
	})
	var got []string
	for _, f := range tree.Files {
		kind := ""
		if f.Test {
			kind += " test"
		}
		if f.Generated {
			kind += " generated"
		}
		if f.Nested {
			kind += " nested"
		}
		got = append(got, f.Path+kind)
	}
	want := []string{
		".ci/run", "Makefile", "internal/asmgen/f/x.go nested", "internal/asmgen/go.mod nested", "kernels/cpu/x_amd64.s generated",
		"memory/a.go", "memory/a_test.go test", "memory/a_windows.go",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestLoadNamesTheBadFile(t *testing.T) {
	_, err := Load(fstest.MapFS{"memory/a.go": &fstest.MapFile{Data: []byte("package memory\nfunc {")}})
	if err == nil || !strings.Contains(err.Error(), "memory/a.go:2") {
		t.Errorf("error %v does not say where", err)
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2} {
		if got := (&File{Source: []byte(text)}).Lines(); got != want {
			t.Errorf("%q has %d lines, want %d", text, got, want)
		}
	}
}
