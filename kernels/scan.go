package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// ScanOp is a running reduction.
type ScanOp int

// The scans.
const (
	CumulativeSum ScanOp = iota
	CumulativeProduct
	CumulativeMin
	CumulativeMax
)

// ScanOptions tune Scan.
type ScanOptions struct {
	// Exclusive leaves the row's own value out: row 0 is the identity (0, 1, the
	// greatest, the least value).
	Exclusive bool
	// KeepNulls makes every row from the first null on null; without it a null
	// row is null and the scan goes on over it.
	KeepNulls bool
	// Checked makes integer overflow an ErrValue that names the row.
	Checked bool
}

// ScanFunc is the running reduction of a column, in the column's own type.
// Floats are summed in a fixed shape as in Reduce.
type ScanFunc func(ctx context.Context, s device.Stream, op ScanOp, c *memory.Column, o ScanOptions) (*memory.Column, error)
