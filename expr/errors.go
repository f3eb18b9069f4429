package expr

import (
	"fmt"

	"github.com/volley-go/volley/device"
)

// The kinds that errors of this package wrap: both are device.ErrMismatch, so
// that errors.Is finds one kind whether text or types are wrong.
var (
	errSyntax = fmt.Errorf("%w: syntax error", device.ErrMismatch)
	errType   = fmt.Errorf("%w: type error", device.ErrMismatch)
	errColumn = fmt.Errorf("%w: unknown column", device.ErrMismatch)
)
