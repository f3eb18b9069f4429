package report

import "errors"

// ErrNotKnown is returned where the operating system has no way, or none that
// this package uses, to tell what was asked for.
var ErrNotKnown = errors.New("report: not known on this platform")
