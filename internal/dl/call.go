//go:build !cpuonly && (darwin || windows || (linux && !android)) && (amd64 || arm64)

package dl

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// Available says whether this program can load libraries at run time.
const Available = true

// Call calls the C function at fn with up to 15 arguments, which are integers
// or pointers, and gives its result. Floating-point arguments and results need
// Bind.
//
// A pointer is written uintptr(unsafe.Pointer(&x)) in the argument list itself:
// the compiler then keeps x alive and in place for the call. What x points to,
// and what the function keeps beyond the call, must be pinned (runtime.Pinner).
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// Bind makes *function, a pointer to a variable of a func type, call the C
// function called name. It is slower than Call (about 0.7 microseconds a call)
// and does for setting up. A func type that cannot be called is an error.
func (l *Library) Bind(function any, name string) (err error) {
	address, err := l.Symbol(name)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s as a %T: %v", name, function, p)
		}
	}()
	purego.RegisterFunc(function, address)
	return nil
}

// Callback makes a C function of a Go func whose parameters and result are
// integers or pointers. It is never freed and there are at most 2000 of them:
// make one for each purpose, not for each use.
func Callback(function any) uintptr { return purego.NewCallback(function) }
