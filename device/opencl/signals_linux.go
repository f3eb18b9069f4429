//go:build !cpuonly && !android && (amd64 || arm64)

package opencl

import (
	"sync"
	"syscall"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// sigaction is the C library's function of that name, 0 where it is not found.
var sigaction = sync.OnceValue(func() uintptr {
	lib, err := dl.Open("libc.so.6", "libc.so")
	if err != nil {
		return 0
	}
	return lib.Optional("sigaction")
})

// restoreSignals notes how SIGUSR1 is handled; what it returns puts that back.
// LLVM, which drivers for CPUs compile with, handles it to print what it is
// doing and tells nobody else, so that a Go program that asked for the signal
// would not get it any more. Its handlers of other signals pass them on.
func restoreSignals(drv *driver) func() {
	fn := sigaction()
	if drv.path == "" || fn == 0 { // of a test: it changes nothing
		return func() {}
	}
	before := new([32]uint64) // larger than any struct sigaction
	if int32(dl.Call(fn, uintptr(syscall.SIGUSR1), 0, uintptr(unsafe.Pointer(before)))) != 0 {
		return func() {}
	}
	return func() { dl.Call(fn, uintptr(syscall.SIGUSR1), uintptr(unsafe.Pointer(before)), 0) }
}
