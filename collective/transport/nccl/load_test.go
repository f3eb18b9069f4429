package nccl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
)

func TestUnavailable(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		goos string
		env  map[string]string
		says string
	}{
		"no such file": {"linux", map[string]string{LibraryVariable: filepath.Join(dir, "none.so")}, "none.so"},
		"no library":   {"linux", map[string]string{LibraryVariable: text}, "text.so"},
		"blocking":     {"linux", map[string]string{blockingVariable: "1"}, "unset it"},
		"windows":      {"windows", nil, "no NCCL for windows"},
	} {
		_, err := load(c.goos, func(name string) string { return c.env[name] })
		if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Libraries that lack what is needed, or are too old, say so.
func TestOldLibraries(t *testing.T) {
	if !dl.Available || cuemu.Missing() != "" {
		t.Log("no libraries are made here: " + cuemu.Missing())
		return
	}
	version := func(v string) string {
		return "extern \"C\" int ncclGetVersion(int *v) { *v = " + v + "; return 0; }\n"
	}
	for name, c := range map[string]struct{ text, says string }{
		"other":   {"extern \"C\" int something() { return 0; }\n", "no ncclGetVersion"},
		"old":     {version("21205"), "it is NCCL 2.12.5, and 2.14.0 or later is needed"},
		"lacking": {version("22703"), "has no ncclGetUniqueId, ncclCommInitRankConfig"},
		"broken":  {"extern \"C\" int ncclGetVersion(int *) { return 3; }\n", "ncclGetVersion gives 3"},
	} {
		from, library := filepath.Join(t.TempDir(), "a.cpp"), filepath.Join(t.TempDir(), name+".so")
		if err := os.WriteFile(from, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "g++", "-shared", "-fPIC", "-o", library, from).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, err := load("linux", func(name string) string {
			return map[string]string{LibraryVariable: library}[name]
		})
		if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The settings are those of NCCL 2.14's ncclConfig_t.
func TestConfig(t *testing.T) {
	c := nonblocking()
	if unsafe.Sizeof(c) != 24 || c.size != 24 || unsafe.Offsetof(c.magic) != 8 || unsafe.Offsetof(c.version) != 12 || unsafe.Offsetof(c.blocking) != 16 {
		t.Errorf("%+v of %d bytes", c, unsafe.Sizeof(c))
	}
}
