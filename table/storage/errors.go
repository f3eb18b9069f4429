package storage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
)

// ErrFormat is the kind of error of a file that is not what its format says:
// truncated, damaged, or of another format.
var ErrFormat = errors.New("not a well-formed file")

// Error is a failure to read or write a file. Fields that do not apply are
// zero. errors.Is finds Kind and Cause.
type Error struct {
	Path   string // the file
	Part   string // "row group 3", "record batch 0", "footer"
	Line   int64  // of a text file, from 1
	Column int    // number of the column or field, from 1
	Name   string // name of the column
	Value  string // the offending text
	Text   string // what is wrong, for people
	Kind   error  // ErrFormat or a kind of package device
	Cause  error  // what it wraps, or nil
}

// Error gives the place from the outside in, then the text.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	var at []string
	if e.Part != "" {
		at = append(at, e.Part)
	}
	if e.Line > 0 {
		at = append(at, fmt.Sprintf("line %d", e.Line))
	}
	switch {
	case e.Column > 0 && e.Name != "":
		at = append(at, fmt.Sprintf("column %d (%q)", e.Column, e.Name))
	case e.Column > 0:
		at = append(at, fmt.Sprintf("column %d", e.Column))
	case e.Name != "":
		at = append(at, fmt.Sprintf("column %q", e.Name))
	}
	if len(at) > 0 {
		b.WriteString(": " + strings.Join(at, ", "))
	}
	text := e.Text
	if e.Cause != nil {
		if text != "" {
			text += ": "
		}
		text += e.Cause.Error()
	}
	if e.Kind != nil && !strings.Contains(text, e.Kind.Error()) {
		if text == "" {
			text = e.Kind.Error()
		} else {
			text = e.Kind.Error() + ": " + text
		}
	}
	return b.String() + ": " + text
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

// damaged is the error of a file whose contents contradict its format.
func damaged(path, part, format string, args ...any) error {
	return &Error{Path: path, Part: part, Kind: ErrFormat, Text: fmt.Sprintf(format, args...)}
}

// unsupported is the error of what is well-formed and not taken.
func unsupported(path, name, format string, args ...any) error {
	return &Error{Path: path, Name: name, Kind: device.ErrUnsupported, Text: fmt.Sprintf(format, args...)}
}

// inFile names the file and the part of it on an error that has no file yet.
// Errors that have a kind keep it; others of a decoder are kind.
func inFile(path, part string, err, kind error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	var system syscall.Errno
	switch {
	case slices.ContainsFunc([]error{device.ErrOutOfMemory, device.ErrCanceled, device.ErrClosed, device.ErrUnsupported, device.ErrLost, device.ErrUnavailable, context.Canceled, context.DeadlineExceeded},
		func(k error) bool { return errors.Is(err, k) }):
		kind = nil
	case errors.Is(err, arrow.ErrNotImplemented):
		kind = device.ErrUnsupported
	case errors.As(err, &system): // a full disk, say, or one that cannot be read
		kind = device.ErrUnavailable
	}
	return &Error{Path: path, Part: part, Kind: kind, Cause: err}
}

// canceled is nil while ctx goes on, then an ErrCanceled that names the file.
func canceled(ctx context.Context, path string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Path: path, Kind: device.ErrCanceled, Cause: context.Cause(ctx)}
}

// contradiction is what is said of a file over which a decoder gave up: what it
// gave up with says something of the decoder.
const contradiction = "its metadata and its values contradict each other"

// guard turns a panic of a decoder into an error: `defer guard(path, part, &err)`.
// Decoders of damaged files may panic anywhere.
func guard(path, part string, err *error) {
	switch p := recover().(type) {
	case nil:
	case allocationFailed:
		*err = inFile(path, part, p.err, nil)
	default:
		*err = &Error{Path: path, Part: part, Kind: ErrFormat, Text: contradiction}
	}
}

// decoderError is the error of a decoder that turns its panics into errors
// itself: of these, the text is left out.
func decoderError(err error) error {
	var failed allocationFailed
	var fault runtime.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return failed.err
	case errors.As(err, &fault), strings.Contains(err.Error(), "unknown error while reading"), strings.Contains(err.Error(), "error reading record batch"):
		return errors.New(contradiction)
	}
	return err
}
