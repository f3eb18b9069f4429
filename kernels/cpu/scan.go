package cpu

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// scan is the CPU's ScanFunc. Sums and products take one pass over memory, see
// chain; extremes two: what each piece of rows comes to, then the rows of each.
func (l *loops) scan(ctx context.Context, s device.Stream, op kernels.ScanOp, c *memory.Column, o kernels.ScanOptions) (*memory.Column, error) {
	r := newOut(s, c.Type(), c.Len())
	err := r.values()
	rows := c.Len() // that matter
	if err == nil && o.KeepNulls && hasNulls(c) {
		rows, err = firstSet(ctx, c.Len(), func(i, n int64) uint64 { return ^validWord(c, i, n) & (1<<uint(n) - 1) })
		if err == nil {
			err = r.nullFrom(rows)
		}
	} else if err == nil {
		err = r.nullsOf(c)
	}
	if err == nil {
		err = l.scanInto(ctx, op, c, r, rows, o)
	}
	return r.column(err)
}

// nullFrom makes rows null from a row on.
func (o *out) nullFrom(row int64) error {
	b, err := memory.NewZeroed(o.alloc, memory.BitmapBytes(o.parts.Len))
	if err != nil {
		return err
	}
	o.parts.Buffers[0], o.parts.Nulls = b, o.parts.Len-row
	memory.Bitmap(b.Bytes()).Fill(0, row, true)
	return nil
}

// scanInto fills the first rows of r.
func (l *loops) scanInto(ctx context.Context, op kernels.ScanOp, c *memory.Column, r *out, rows int64, o kernels.ScanOptions) error {
	j := &scanJob{ctx, op, c, r, rows, o, rows > 0 && hasNulls(c) && !o.KeepNulls}
	extremes := op == kernels.CumulativeMin || op == kernels.CumulativeMax
	switch c.Type().ID() {
	case arrow.INT8:
		return scanSigned[int8](l, j)
	case arrow.INT16:
		return scanSigned[int16](l, j)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return scanSigned[int32](l, j)
	case arrow.UINT8:
		return scanUnsigned[uint8](l, j)
	case arrow.UINT16:
		return scanUnsigned[uint16](l, j)
	case arrow.UINT32:
		return scanUnsigned[uint32](l, j)
	case arrow.UINT64:
		return scanUnsigned[uint64](l, j)
	case arrow.FLOAT32:
		if extremes {
			return scanExtremes(j, float32(kernels.ScanIdentity(op, c.Type()).Float64()))
		}
		return scanFloats[float32](l, j)
	case arrow.FLOAT64:
		if extremes {
			return scanExtremes(j, kernels.ScanIdentity(op, c.Type()).Float64())
		}
		return scanFloats[float64](l, j)
	case arrow.DECIMAL128:
		return scanDecimals(j)
	default:
		return scanSigned[int64](l, j)
	}
}

// scanJob is one call of scan.
type scanJob struct {
	ctx   context.Context
	op    kernels.ScanOp
	c     *memory.Column
	r     *out
	rows  int64
	o     kernels.ScanOptions
	nulls bool // among the rows
}

// overflow is the error of a row whose result does not fit.
func (j *scanJob) overflow(row int64) error {
	return fmt.Errorf("%w: row %d: %s overflows %s", device.ErrValue, row, j.op, j.c.Type())
}

func scanSigned[T int8 | int16 | int32 | int64](l *loops, j *scanJob) error {
	identity := T(kernels.ScanIdentity(j.op, j.c.Type()).Int64())
	switch {
	case j.op >= kernels.CumulativeMin:
		return scanExtremes(j, identity)
	case !j.o.Checked:
		return scanIntegers(l, j, int(unsafe.Sizeof(identity)))
	case j.op == kernels.CumulativeSum:
		return scanChecked(j, identity, func(a, b T) (T, bool) {
			sum := a + b
			return sum, (a^sum)&(b^sum) < 0
		})
	default:
		return scanChecked(j, identity, func(a, b T) (T, bool) {
			p := a * b
			return p, a != 0 && (p/a != b || a == -1 && b < 0 && p < 0)
		})
	}
}

func scanUnsigned[T uint8 | uint16 | uint32 | uint64](l *loops, j *scanJob) error {
	identity := T(kernels.ScanIdentity(j.op, j.c.Type()).Uint64())
	switch {
	case j.op >= kernels.CumulativeMin:
		return scanExtremes(j, identity)
	case !j.o.Checked:
		return scanIntegers(l, j, int(unsafe.Sizeof(identity)))
	case j.op == kernels.CumulativeSum:
		return scanChecked(j, identity, func(a, b T) (T, bool) { return a + b, a+b < a })
	default:
		return scanChecked(j, identity, func(a, b T) (T, bool) { return a * b, a != 0 && a*b/a != b })
	}
}

// scanDecimals goes row by row: decimals are few next to what they cost.
func scanDecimals(j *scanJob) error {
	d := kernels.ScanIdentity(j.op, j.c.Type()).Decimal()
	identity := [2]uint64{d.LowBits(), uint64(d.HighBits())}
	number := func(v [2]uint64) decimal128.Num { return decimal128.New(int64(v[1]), v[0]) }
	return scanChecked(j, identity, func(a, b [2]uint64) ([2]uint64, bool) {
		x, y := number(a), number(b)
		switch {
		case j.op == kernels.CumulativeMin && x.Less(y), j.op == kernels.CumulativeMax && y.Less(x):
			return a, false
		case j.op != kernels.CumulativeSum:
			return b, false
		}
		sum := x.Add(y)
		over := (x.HighBits()^sum.HighBits())&(y.HighBits()^sum.HighBits()) < 0
		return [2]uint64{sum.LowBits(), uint64(sum.HighBits())}, over && j.o.Checked
	})
}

// scanChecked goes row by row and stops at the first result that take finds
// not to fit.
func scanChecked[T any](j *scanJob, state T, take func(a, b T) (T, bool)) error {
	v, dst := memory.Values[T](j.c), view[T](j.r, 1)
	over := false // the state does not fit
	for i := range j.rows {
		if i&(morsel-1) == 0 {
			if err := device.Canceled(j.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		if j.nulls && j.c.IsNull(i) {
			var none T
			dst[i] = none
			continue
		}
		if over {
			return j.overflow(i)
		}
		if j.o.Exclusive {
			dst[i] = state
		}
		if state, over = take(state, v[i]); over && !j.o.Exclusive {
			return j.overflow(i)
		}
		if !j.o.Exclusive {
			dst[i] = state
		}
	}
	return nil
}
