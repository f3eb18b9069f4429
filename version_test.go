package volley_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/volley-go/volley"
)

// TestOneVersion holds what tells a version of volley against Release: the C header, what pkg-config and CMake find, and the Python package.
func TestOneVersion(t *testing.T) {
	for path, pattern := range map[string]string{
		"cgo/include/volley.h":            `(?m)^#define VOLLEY_VERSION "(.*)"$`,
		"cgo/volley.pc.in":                `(?m)^Version: (.*)$`,
		"cgo/volley-config.cmake":         `(?m)^set\(volley_VERSION "(.*)"\)$`,
		"cgo/volley-config-version.cmake": `(?m)^set\(PACKAGE_VERSION "(.*)"\)$`,
		"python/pyproject.toml":           `(?m)^version = "(.*)"$`,
		"python/volley/__init__.py":       `(?m)^__version__ = "(.*)"$`,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(pattern).FindSubmatch(text); m == nil || string(m[1]) != volley.Release {
			t.Errorf("%s tells version %q, and Release is %q", path, m, volley.Release)
		}
	}
}
