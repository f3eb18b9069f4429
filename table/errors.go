package table

import "github.com/volley-go/volley/device"

// The kinds of error that this package makes itself.
var (
	errMismatch    = device.ErrMismatch
	errUnsupported = device.ErrUnsupported
)
