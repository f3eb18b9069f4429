package main

// #include "base.h"
import "C"

import (
	"fmt"

	"github.com/volley-go/volley/device"
)

// call runs the body of an entry point, and turns its error, or a panic, into a status and the thread's last error.
func call(name string, body func() error) (status C.int32_t) {
	defer func() {
		if p := recover(); p != nil {
			status = failed(name, panicked(p))
		}
	}()
	if err := body(); err != nil {
		return failed(name, err)
	}
	return C.VOLLEY_OK
}

// panicked is the error of what a recover found.
func panicked(p any) error { return fmt.Errorf("%w: %v", errInternal, p) }

// mismatch is the error of an argument that is wrong.
func mismatch(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrMismatch}, args...)...)
}

// count checks a number of things that a pointer points at.
func count[T any](name string, p *T, n C.int64_t) (int, error) {
	if n < 0 || n > 1<<30 {
		return 0, mismatch("%s has a count of %d", name, int64(n))
	}
	if n > 0 && p == nil {
		return 0, mismatch("%s is NULL", name)
	}
	return int(n), nil
}
