package memory

import (
	"errors"
	"fmt"
)

// The kinds of error of this package; package device gives them again under
// the same names beside its own. Test for them with errors.Is.
var (
	// ErrOutOfMemory: an allocator has not got what was asked for.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrMismatch: shapes, types, lengths or devices disagree.
	ErrMismatch = errors.New("mismatch")
	// ErrUnsupported: a type or option that this part of volley does not take.
	ErrUnsupported = errors.New("unsupported")
	// ErrClosed: use after Close or after the last Release.
	ErrClosed = errors.New("closed")
)

// OutOfMemory is the error of an allocator that cannot serve a request.
// It is an ErrOutOfMemory.
type OutOfMemory struct {
	Place     Place
	Requested int64 // bytes asked for
	InUse     int64 // bytes held by callers at that moment; -1 if not known
	Limit     int64 // bytes the allocator may give out in all; -1 if not known
}

// Error says what was asked for and what there was.
func (e *OutOfMemory) Error() string {
	if e.InUse < 0 && e.Limit >= 0 {
		return fmt.Sprintf("%s: out of memory: %d bytes requested, %d or less free, which is all there is", e.Place, e.Requested, e.Limit)
	}
	if e.Limit < 0 {
		return fmt.Sprintf("%s: out of memory: %d bytes requested", e.Place, e.Requested)
	}
	return fmt.Sprintf("%s: out of memory: %d bytes requested, %d free (%d in use of a limit of %d)",
		e.Place, e.Requested, e.Limit-e.InUse, e.InUse, e.Limit)
}

// Is reports whether kind is ErrOutOfMemory.
func (e *OutOfMemory) Is(kind error) bool { return kind == ErrOutOfMemory }

// mismatch makes an ErrMismatch with a text.
func mismatch(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMismatch}, args...)...)
}
