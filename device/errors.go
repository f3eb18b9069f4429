package device

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/volley-go/volley/memory"
)

// The kinds of error of everything that runs on a device. Test for them with
// errors.Is: the kinds are part of the interface, the texts are not.
var (
	// ErrUnavailable: the device or its driver is not there; the text says why.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnsupported: there is the device, but it has not got that kernel, type or option.
	ErrUnsupported = memory.ErrUnsupported
	// ErrOutOfMemory: the device, or a limit set on its memory, has not got what was asked for.
	ErrOutOfMemory = memory.ErrOutOfMemory
	// ErrClosed: use of something that was closed or released.
	ErrClosed = memory.ErrClosed
	// ErrMismatch: shapes, types, lengths or devices disagree.
	ErrMismatch = memory.ErrMismatch
	// ErrLost: the device failed for good; open it again or use another.
	ErrLost = errors.New("device lost")
	// ErrCanceled: the context of the call ended. The context's own error is
	// wrapped beside it.
	ErrCanceled = errors.New("canceled")
	// ErrValue: a value that the operation has no answer for: an overflow in
	// checked arithmetic, a division by zero, an index out of range, a text that
	// is no number. The text names the row.
	ErrValue = errors.New("invalid value")
)

// Error is a failure on a device.
type Error struct {
	Device string // "cpu", "cuda:0"
	Call   string // the kernel or driver call that failed
	Code   int    // the driver's own code; 0 where there is none
	Text   string // what happened, for people
	Kind   error  // one of the kinds above
	Cause  error  // what it wraps, or nil
}

// Error gives device, call and text.
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.Device, e.Call} {
		if part != "" {
			b.WriteString(part)
			b.WriteString(": ")
		}
	}
	text := e.Text
	if text == "" && e.Cause != nil {
		text = e.Cause.Error()
	}
	switch {
	case text == "" && e.Kind != nil:
		text = e.Kind.Error()
	case e.Kind != nil && !strings.Contains(text, e.Kind.Error()):
		text = e.Kind.Error() + ": " + text
	}
	b.WriteString(text)
	if e.Code != 0 {
		fmt.Fprintf(&b, " (code %d)", e.Code)
	}
	return b.String()
}

// Unwrap gives the kind and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Errorf makes an Error of a kind with a formatted text.
func Errorf(kind error, device, call, format string, args ...any) *Error {
	return &Error{Device: device, Call: call, Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Canceled returns nil while ctx goes on, and once it has ended an ErrCanceled
// that wraps the context's cause.
func Canceled(ctx context.Context, device, call string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Device: device, Call: call, Kind: ErrCanceled, Cause: context.Cause(ctx)}
}
