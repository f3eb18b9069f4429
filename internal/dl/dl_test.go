package dl

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// libc is a library that every system of these tests has.
func libc() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"msvcrt.dll"}
	case "darwin":
		return []string{"/usr/lib/libSystem.B.dylib"}
	default:
		return []string{"libc.so.6"}
	}
}

// TestMissing lists each name with its reason, in both kinds of program.
func TestMissing(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.so")
	if err := os.WriteFile(broken, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open("libvolley-none.so.7", broken)
	var missing *Missing
	if l != nil || !errors.As(err, &missing) || len(missing.Tried) != 2 {
		t.Fatalf("%v, %v", l, err)
	}
	for i, path := range []string{"libvolley-none.so.7", broken} {
		try := missing.Tried[i]
		if try.Path != path || try.Reason == "" || !strings.Contains(err.Error(), path+": "+try.Reason) {
			t.Errorf("try %d is %+v in %q", i, try, err)
		}
		if !Available && try.Reason != NotBuilt {
			t.Errorf("try %d is %+v in a program without run-time loading", i, try)
		}
	}
	if _, err := Open(); err == nil {
		t.Error("nothing was named and nothing is wrong")
	}
}

// TestCall calls functions of the C library: integers, pointers, a result.
func TestCall(t *testing.T) {
	l, err := Open(append([]string{"libvolley-none.so.7"}, libc()...)...)
	if !Available {
		if err == nil {
			t.Fatal("a library was loaded")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if l.Path() != libc()[0] {
		t.Errorf("loaded %s", l.Path())
	}
	length, err := l.Symbol("strlen")
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("a volley\x00")
	for range 100 {
		if n := Call(length, uintptr(unsafe.Pointer(&text[0]))); n != 8 {
			t.Fatalf("strlen gives %d", n)
		}
	}
	var bound func(string) uintptr
	if err := l.Bind(&bound, "strlen"); err != nil || bound("many arrows") != 11 {
		t.Errorf("bound: %v", err)
	}
	var number int
	if err := l.Bind(&number, "strlen"); err == nil {
		t.Error("strlen was bound to an int")
	}
	if _, err := l.Symbol("volley_none"); err == nil || !strings.Contains(err.Error(), "volley_none") || !strings.Contains(err.Error(), l.Path()) {
		t.Errorf("the error names neither: %v", err)
	}
	if l.Optional("volley_none") != 0 || l.Optional("strlen") != length {
		t.Error("optional symbols")
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

// TestNames has a name for every system, each once.
func TestNames(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows", "freebsd"} {
		for _, names := range [][]string{OpenCL(goos), CUDA(goos)} {
			if len(names) == 0 {
				t.Errorf("%s has no name", goos)
			}
			for _, n := range names {
				if strings.HasSuffix(n, ".dll") != (goos == "windows") {
					t.Errorf("%s on %s", n, goos)
				}
			}
		}
	}
}
