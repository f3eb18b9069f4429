package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// isNullTest is the CPU's IsNullFunc.
func (l *loops) isNullTest(ctx context.Context, s device.Stream, q kernels.NullTest, c *memory.Column) (*memory.Column, error) {
	if q == kernels.IsNaNTest {
		return l.isNaN(ctx, s, c)
	}
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	if err := o.bits(); err != nil {
		return o.column(err)
	}
	dst := o.bitmap(1)
	return o.column(parallel(ctx, c.Len(), func(_ int, sp span) error {
		for i := sp.from; i < sp.to; i += 64 {
			k := min(64, sp.to-i)
			w := validWord(c, i, k)
			if q == kernels.IsNullTest {
				w = ^w & (^uint64(0) >> (64 - uint(k)))
			}
			storeWord(dst, i, k, w)
		}
		return nil
	}))
}

func (l *loops) isNaN(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	if d := c.Dictionary(); d != nil && kernels.FloatTypes.Has(d.Type().ID()) {
		plain, err := decode(ctx, s, c)
		if err != nil {
			return nil, err
		}
		defer plain.Release()
		c = plain
	}
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	if err := o.bits(); err != nil {
		return o.column(err)
	}
	dst := o.bitmap(1)
	self := operand{col: c}
	var different func(int, span) error
	if kernels.FloatTypes.Has(c.Type().ID()) {
		different = l.comparison(kernels.NotEqual, dst, self, self) // only a NaN differs from itself
	}
	return o.column(parallel(ctx, c.Len(), func(w int, sp span) error {
		if different == nil {
			clear(dst[sp.from>>3 : memory.BitmapBytes(sp.to)])
			return nil
		}
		if err := different(w, sp); err != nil {
			return err
		}
		for i := sp.from; i < sp.to && c.Validity() != nil; i += 64 {
			k := min(64, sp.to-i)
			storeWord(dst, i, k, dst.Word(i, k)&validWord(c, i, k))
		}
		return nil
	}))
}

// fillNull is the CPU's FillNullFunc: an IfElse whose condition is c's validity.
func (l *loops) fillNull(ctx context.Context, s device.Stream, c *memory.Column, fill kernels.Datum) (*memory.Column, error) {
	if f := operandOf(fill); !hasNulls(c) || f.null() || c.Type().ID() == arrow.NULL {
		return c.Slice(0, c.Len())
	}
	b, _, err := combineValidity(s.Device().Memory(), c.Len(), c)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return l.chooseColumns(ctx, s, c.Type(), condition{bits: memory.Bitmap(b.Bytes())}, c, fill)
}
