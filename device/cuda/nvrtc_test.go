package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// fakeCompiler makes the PTX of the fake's kernels of any text without "wrong".
type fakeCompiler struct {
	compiler
	options [][]string
}

func newCompiler(version int, archs ...int) *fakeCompiler {
	c := &fakeCompiler{compiler: compiler{library: "fake nvrtc", version: version, archs: archs}}
	c.compile = func(name, text string, options []string) (ptx, binary []byte, log string, err error) {
		c.options = append(c.options, options)
		if strings.Contains(text, "wrong") {
			return nil, nil, name + "(3): error: identifier \"wrong\" is undefined", errors.New("compilation (code 6)")
		}
		return []byte(fakePTX), []byte("\x7fELF " + fakePTX), "", nil
	}
	return c
}

// openWith opens the fake's GPU with a compiler and a cache of its own.
func openWith(t *testing.T, f *fake, c *fakeCompiler) *Device {
	t.Helper()
	t.Setenv("VOLLEY_CACHE", t.TempDir())
	o := collect(nil)
	o.compile = func() (*compiler, error) { return &c.compiler, nil }
	d, err := f.library().open(0, o)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func TestCompile(t *testing.T) {
	f := newFake(t)
	c := newCompiler(12000, 60, 70, 80, 100)
	d := openWith(t, f, c)
	s := newStream(t, d)
	src := device.Source{Name: "user.cu", Text: "kernels", Defines: map[string]string{"N": "4", "M": "a b"}}
	for range 2 { // the second time from the cache
		m, err := d.LoadModule(t.Context(), src)
		must(t, err)
		fn, err := m.Function("twice")
		must(t, err)
		b := onDevice(t, d, 8)
		must(t, s.Launch(fn, device.Grid{}, b))
		b.Release()
	}
	must(t, wait(t, s))
	if len(c.options) != 1 || !slices.Equal(c.options[0], []string{"--gpu-architecture=compute_80", "--fmad=false", "-DM=a b", "-DN=4"}) {
		t.Fatalf("compiled with %q", c.options)
	}
	for i, other := range []device.Source{
		{Name: "user.cu", Text: "kernels "},
		{Name: "user.cu", Text: "kernels", Defines: map[string]string{"N": "5", "M": "a b"}},
		{Name: "else.cu", Text: "kernels", Defines: src.Defines},
	} {
		_, err := d.LoadModule(t.Context(), other)
		must(t, err)
		if len(c.options) != 2+i {
			t.Fatalf("%+v was taken from the cache", other)
		}
	}
	for range 2 { // failures are not kept
		_, err := d.LoadModule(t.Context(), device.Source{Name: "user.cu", Text: "wrong"})
		is(t, err, device.ErrUnsupported, "cuda:0", "user.cu(3): error", "identifier \"wrong\" is undefined", "code 6")
	}
	if len(c.options) != 6 {
		t.Fatalf("compiled %d times", len(c.options))
	}
}

// TestCompileBinary compiles for the GPU itself where the compiler's PTX is
// newer than the driver.
func TestCompileBinary(t *testing.T) {
	f := newFake(t)
	f.drv.version = func() (int, code) { return 12020, success }
	f.drv.paramInfo = nil // of 12.4
	c := newCompiler(12090, 80, 90)
	d := openWith(t, f, c)
	for range 2 { // the binary and its PTX come back from the cache
		m, err := d.LoadModule(t.Context(), device.Source{Name: "user.cu", Text: "kernels"})
		must(t, err)
		_, err = m.Function("twice")
		must(t, err)
	}
	if len(c.options) != 1 || c.options[0][0] != "--gpu-architecture=sm_90" {
		t.Fatalf("compiled with %q", c.options)
	}
	for _, image := range f.images {
		if !strings.HasPrefix(string(image), "\x7fELF") {
			t.Error("the PTX was loaded")
		}
	}
}

func TestTargets(t *testing.T) {
	for _, x := range []struct {
		version, driver, capability int
		archs                       []int
		want                        string
	}{
		{12000, 12090, 90, []int{50, 80, 90}, "compute_90"},
		{12000, 12090, 120, []int{50, 80, 90}, "compute_90"},
		{12090, 12000, 89, []int{80, 89, 90}, "sm_89"},
		{12090, 12000, 120, []int{80, 89, 90}, "makes no binary for compute capability 12.0"},
		{13000, 12090, 90, []int{75, 90}, "later major version"},
		{13000, 13000, 70, []int{75, 90}, "does not compile for compute capability 7.0"},
	} {
		c := newCompiler(x.version, x.archs...)
		got, _, err := c.target(x.capability, x.driver)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, x.want) {
			t.Errorf("%+v: %s", x, got)
		}
	}
}

// TestCompilerMissing names every path that was tried.
func TestCompilerMissing(t *testing.T) {
	f := newFake(t)
	o := collect([]Option{WithNVRTC("/nonexistent/libnvrtc-none.so")})
	d, err := f.library().open(0, o)
	must(t, err)
	defer d.Close()
	_, err = d.LoadModule(t.Context(), device.Source{Name: "user.cu", Text: "kernels"})
	is(t, err, device.ErrUnsupported, "NVRTC", "is not here", "/nonexistent/libnvrtc-none.so")
	libc := map[string]string{"linux": "libc.so.6", "darwin": "/usr/lib/libSystem.B.dylib", "windows": "msvcrt.dll"}[runtime.GOOS]
	_, err = loadCompiler(libc, 12090)
	if err == nil || !strings.Contains(err.Error(), libc) {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"CUDA_PATH": "/opt/cuda", "CUDA_HOME": "/opt/cuda"}[name]
	}
	names := nvrtcNames("linux", env)
	for _, want := range []string{"libnvrtc.so.12", "/opt/cuda/lib64/libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"} {
		if n := len(names) - len(slices.DeleteFunc(slices.Clone(names), func(s string) bool { return filepath.ToSlash(s) == want })); n != 1 {
			t.Errorf("%s is tried %d times", want, n)
		}
	}
	if names := nvrtcNames("windows", env); names[1] != "nvrtc64_120_0.dll" || len(names) != 10 {
		t.Errorf("%q", names)
	}
}

// TestCacheLimit drops what was used longest ago.
func TestCacheLimit(t *testing.T) {
	c := cache{t.TempDir(), 3000}
	for i, key := range []string{"a", "b", "c"} {
		c.put(key, make([]byte, 900), nil)
		long := time.Now().Add(time.Duration(i-10) * time.Minute)
		must(t, os.Chtimes(c.path(key), long, long))
	}
	if _, _, ok := c.get("a"); !ok { // which makes it the one used last
		t.Fatal("a is gone")
	}
	c.put("d", make([]byte, 900), nil)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, _, ok := c.get(key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
}

// TestCacheDamage compiles again what cannot be read from the cache.
func TestCacheDamage(t *testing.T) {
	c := cache{filepath.Join(t.TempDir(), "new", "folder"), cacheLimit}
	c.put("a", []byte("image"), []byte("ptx"))
	c.put("b", []byte("ptx"), []byte("ptx"))
	for key, want := range map[string]string{"a": "image", "b": "ptx"} {
		image, ptx, ok := c.get(key)
		if !ok || string(image) != want || string(ptx) != "ptx" {
			t.Errorf("%s: %q, %q, %v", key, image, ptx, ok)
		}
	}
	whole, err := os.ReadFile(c.path("a"))
	must(t, err)
	for n := range whole {
		must(t, os.WriteFile(c.path("a"), whole[:n], 0o600))
		if _, _, ok := c.get("a"); ok {
			t.Fatalf("%d of %d bytes were taken for the whole", n, len(whole))
		}
	}
	if _, _, ok := (cache{}).get("a"); ok {
		t.Error("no cache has something")
	}
	cache{}.put("a", nil, nil)
	if cacheKey([]string{"ab", "c"}) == cacheKey([]string{"a", "bc"}) {
		t.Error("two sources have one key")
	}
	t.Setenv("VOLLEY_CACHE", "/somewhere")
	if got := openCache().folder; got != filepath.Join("/somewhere", "cuda") {
		t.Error(got)
	}
	t.Setenv("VOLLEY_CACHE", "off")
	if got := openCache().folder; got != "" {
		t.Error(got)
	}
}
