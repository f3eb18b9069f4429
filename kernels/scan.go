package kernels

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
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

var scanNames = [...]string{"cumulative_sum", "cumulative_product", "cumulative_min", "cumulative_max"}

// String is the name of the scan as in Arrow compute.
func (op ScanOp) String() string {
	if op < 0 || int(op) >= len(scanNames) {
		return fmt.Sprintf("scan %d", int(op))
	}
	return scanNames[op]
}

// ScanOptions tune Scan.
type ScanOptions struct {
	// Exclusive leaves the row's own value out: row 0 is the identity (0, 1, the
	// greatest, the least value, of floats the infinities).
	Exclusive bool
	// KeepNulls makes every row from the first null on null; without it a null
	// row is null and the scan goes on over it.
	KeepNulls bool
	// Checked makes integer overflow an ErrValue that names the first row whose result does not fit. With Exclusive the last value, which no
	// result has, does not count.
	Checked bool
}

// ScanTypes are what Scan takes: CumulativeSum integers, floats, decimals and
// durations; CumulativeProduct integers and floats; CumulativeMin and
// CumulativeMax all of them.
var ScanTypes = NumberTypes | DecimalTypes | TemporalTypes

// ScanFunc is the running reduction of a column, in the column's own type.
// Integers wrap unless Checked; decimals are always checked.
// CumulativeMin and CumulativeMax pass over NaNs; the result is NaN only until
// there is something else.
//
// Sums and products of floats are taken in float64 and rounded to the type for
// each row, in a shape that depends on the row alone: rows are in blocks of
// ScanBlock; in a block values are taken in one by one from 0 (1 for products),
// giving p; the result is the total of the blocks before, taken in one by one as
// well, joined with p. The bound is |error| <= (ScanBlock + n / ScanBlock) * 2^-53
// * sum|x| for a row n.
type ScanFunc func(ctx context.Context, s device.Stream, op ScanOp, c *memory.Column, o ScanOptions) (*memory.Column, error)

// ScanBlock is the number of rows of a block in the shape of float scans. It is a
// multiple of a cache's line and not of 64 lines, so that blocks that are gone over
// side by side do not lie in the same sets of a first-level cache.
const ScanBlock = 4080

// Scan checks its arguments and runs the set's Scan. An operation that the
// type has not got is an ErrUnsupported.
func (b *Backend) Scan(ctx context.Context, s device.Stream, op ScanOp, c *memory.Column, o ScanOptions) (r *memory.Column, err error) {
	const call = "scan"
	defer b.guard(call, &err)
	e := b.Set.Scan
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, b.fail(device.ErrMismatch, call, "no column")
	}
	if op < 0 || int(op) >= len(scanNames) {
		return nil, b.fail(device.ErrUnsupported, call, "there is no %s", op)
	}
	if !op.Types().Has(c.Type().ID()) {
		return nil, b.fail(device.ErrUnsupported, call, "%s of %s", op, c.Type())
	}
	o.Checked = o.Checked || DecimalTypes.Has(c.Type().ID())
	return e.Func(ctx, s, op, c, o)
}

// Types are those that the scan is defined for.
func (op ScanOp) Types() Types {
	switch op {
	case CumulativeSum:
		return NumberTypes | DecimalTypes | DurationTypes
	case CumulativeProduct:
		return NumberTypes
	default:
		return ScanTypes
	}
}

// ScanIdentity is what a scan of a type begins with: 0, 1, the greatest value
// for CumulativeMin and the least for CumulativeMax (of floats the infinities,
// of decimals those of 128 bits).
func ScanIdentity(op ScanOp, t arrow.DataType) Scalar {
	id := t.ID()
	switch {
	case op == CumulativeSum && id == arrow.DECIMAL128:
		return Decimal(t, decimal128.Num{})
	case (op == CumulativeSum || op == CumulativeProduct) && FloatTypes.Has(id):
		return Float(t, float64(op))
	case op == CumulativeSum || op == CumulativeProduct:
		return Int(t, int64(op))
	case FloatTypes.Has(id) && op == CumulativeMin:
		return Float(t, math.Inf(1))
	case FloatTypes.Has(id):
		return Float(t, math.Inf(-1))
	case id == arrow.DECIMAL128 && op == CumulativeMin:
		return Decimal(t, decimal128.New(math.MaxInt64, math.MaxUint64))
	case id == arrow.DECIMAL128:
		return Decimal(t, decimal128.New(math.MinInt64, 0))
	case UnsignedTypes.Has(id) && op == CumulativeMin:
		return Int(t, -1) // cut to the width: all ones
	case UnsignedTypes.Has(id):
		return Int(t, 0)
	}
	bits := uint(8 * memory.Width(t))
	if op == CumulativeMin {
		return Int(t, 1<<(bits-1)-1)
	}
	return Int(t, -1<<(bits-1))
}
