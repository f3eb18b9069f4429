package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong on one system only is found for that one, in tests too, and nothing is found on another.
func TestCheck(t *testing.T) {
	for name, file := range map[string]struct{ name, text, want string }{
		"a type":          {"x_windows.go", "package x\n\nimport \"os\"\n\nvar _ int = os.Getpid\n", "x_windows.go:5:13"},
		"a name":          {"x_windows.go", "package x\n\nfunc f() { g() }\n", "undefined: g"},
		"a body":          {"x_windows.go", "package x\n\nfunc f()\n", "f has no body"},
		"syntax":          {"x_windows.go", "package x\n\nfunc f() {\n", "x_windows.go:"},
		"a number's size": {"x_windows.go", "package x\n\nconst _ = uint(1 << 40)\n", "overflows"},
		"a test":          {"x_windows_test.go", "package x_test\n\nimport _ \"y/nowhere\"\n", "y/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.24\n", "x.go": "package x\n\nimport _ \"os\"\n", file.name: file.text} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := check(folder, "linux", "386"); n == 0 || err != nil {
				t.Errorf("linux: %d packages, %v", n, err)
			}
			if _, err := check(folder, "windows", "386"); err == nil || !strings.Contains(err.Error(), file.want) {
				t.Errorf("windows: %v, want %s", err, file.want)
			}
		})
	}
}
