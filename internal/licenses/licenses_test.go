package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderHasTheLicencesOfWhatIsLinked fails where libvolley links a module whose licence is not in the folder, and so not in the wheel.
func TestFolderHasTheLicencesOfWhatIsLinked(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Fatal(err)
	}
}

// TestCommandLinksPermissiveModulesOnly fails where the command volley links a module without a licence text that is known to be permissive.
func TestCommandLinksPermissiveModulesOnly(t *testing.T) {
	all, err := linked("../..", "./cmd/volley", "linux", "darwin", "windows")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("the command links %d modules only", len(all))
	}
	if _, err := collect(all); err != nil {
		t.Fatal(err)
	}
}

const mit = "Permission is hereby granted, free of charge,\n to any person obtaining a copy"

// made is a module in a folder of its own with some files.
func made(t *testing.T, path string, files map[string]string) module {
	t.Helper()
	m := module{path, t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestModulesWithoutAPermissiveLicence(t *testing.T) {
	for _, files := range []map[string]string{
		{},
		{"README.md": mit},
		{"LICENSE": "Creative Commons Attribution 4.0 International Public License"},
		{"COPYING": "GNU GENERAL PUBLIC LICENSE Version 2, June 1991"},
		{"NOTICE": "This product includes software"},
	} {
		if _, err := collect([]module{made(t, "example.org/x", files)}); err == nil || !strings.Contains(err.Error(), "example.org/x") {
			t.Errorf("%v: %v", files, err)
		}
	}
}

func TestFolderThatIsNotWhatTheModulesSay(t *testing.T) {
	texts, err := collect([]module{
		made(t, "example.org/x", map[string]string{"LICENSE.md": mit, "PATENTS": "none", "main.go": "package main", "License-of-y": "y"}),
		made(t, "example.org/x/y", map[string]string{"Licence": mit, "NOTICE.txt": "notice"}),
	})
	if err != nil || len(texts) != 5 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	dir := filepath.Join(t.TempDir(), "licenses")
	if err := compare(dir, texts); err == nil {
		t.Error("a folder that is not there has all of them")
	}
	if err := write(dir, texts); err != nil {
		t.Fatal(err)
	}
	if err := compare(dir, texts); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "example.org/x/LICENSE.md")
	for _, change := range []func() error{
		func() error { return os.WriteFile(path, []byte("else"), 0o644) },
		func() error { return os.Remove(path) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := compare(dir, texts); err == nil || !strings.Contains(err.Error(), "example.org/x/LICENSE.md") {
			t.Error(err)
		}
	}
	if err := write(dir, texts); err != nil {
		t.Fatal(err)
	}
	delete(texts, "example.org/x/y/NOTICE.txt")
	if err := compare(dir, texts); err == nil {
		t.Error("a file of no module is let be")
	}
}
