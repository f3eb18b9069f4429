package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/gang"
	"github.com/volley-go/volley/table/storage"
)

// errInternal is the kind of what should not happen.
var errInternal = errors.New("internal error")

// stopped is the error of a call that its own token ended.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

// kinds are the errors that have a status of their own, the more special ones first.
var kinds = []struct {
	err    error
	status C.int32_t
	name   string
}{
	{errInternal, C.VOLLEY_INTERNAL, "internal"},
	{device.ErrCanceled, C.VOLLEY_CANCELED, "canceled"},
	{context.Canceled, C.VOLLEY_CANCELED, "canceled"},
	{gang.ErrStale, C.VOLLEY_UNAVAILABLE, "stale"},
	{gang.ErrNotFound, C.VOLLEY_NOT_FOUND, "not found"},
	{device.ErrOutOfMemory, C.VOLLEY_OUT_OF_MEMORY, "out of memory"},
	{device.ErrLost, C.VOLLEY_LOST, "device lost"},
	{device.ErrClosed, C.VOLLEY_CLOSED, "closed"},
	{fs.ErrNotExist, C.VOLLEY_NOT_FOUND, "not found"},
	{device.ErrUnavailable, C.VOLLEY_UNAVAILABLE, "unavailable"},
	{device.ErrUnsupported, C.VOLLEY_UNSUPPORTED, "unsupported"},
	{device.ErrValue, C.VOLLEY_VALUE, "invalid value"},
	{storage.ErrFormat, C.VOLLEY_FORMAT, "format"},
	{device.ErrMismatch, C.VOLLEY_MISMATCH, "mismatch"},
}

// statusOf is the status and the kind of an error. One of no kind, such as a file that may not be read, is a mismatch of argument and world.
func statusOf(err error) (C.int32_t, string) {
	var own stopped
	var fault *collective.Fault
	var failure *gang.CallError
	switch {
	case errors.As(err, &own):
		return C.VOLLEY_CANCELED, "canceled"
	case errors.As(err, &fault):
		return C.VOLLEY_FAULT, "fault"
	case errors.As(err, &failure):
		return C.VOLLEY_FAULT, "failed"
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.status, k.name
		}
	}
	return C.VOLLEY_MISMATCH, "mismatch"
}

// failed makes err the last error of this thread: a call from C runs on the thread that C called on.
func failed(name string, err error) C.int32_t {
	status, kind := statusOf(err)
	var from *device.Error
	where := ""
	if errors.As(err, &from) {
		where = from.Device
	}
	ckind, message, cdevice := interned(kind), C.CString(strings.ReplaceAll(name+": "+err.Error(), "\x00", "\\0")), C.CString(where)
	defer C.free(unsafe.Pointer(message))
	defer C.free(unsafe.Pointer(cdevice))
	C.vly_set_error(status, ckind, message, cdevice)
	return status
}
