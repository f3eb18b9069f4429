package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// truths is rows [i, i+n) of a bool operand as two words: where it is known to
// be true and where it is known to be false.
func truths(o operand, i, n int64) (yes, no uint64) {
	all := ^uint64(0) >> (64 - uint(n))
	if o.null() {
		return 0, 0
	}
	yes, valid := truthWord(o, i, n), all
	if o.col != nil {
		valid = validWord(o.col, i, n)
	}
	return yes & valid, ^yes & valid
}

// logic is the CPU's LogicFunc.
func (l *loops) logic(ctx context.Context, s device.Stream, op kernels.LogicOp, x, y kernels.Datum) (*memory.Column, error) {
	a, b := operandOf(x), operandOf(y)
	n := rowsOf(a, b)
	o := newOut(s, arrow.FixedWidthTypes.Boolean, n)
	err := o.bits()
	if err == nil && (hasNulls(a.col) || hasNulls(b.col) || a.null() || b.null()) {
		o.parts.Buffers[0], err = newBits(o.alloc, n)
	}
	if err != nil {
		return o.column(err)
	}
	values, valid := o.bitmap(1), o.valid()
	if n > 0 && valid == nil && wholeBits(a) && wholeBits(b) {
		return o.column(l.logicBytes(ctx, op, values, a.col, b.col))
	}
	var known atomic.Int64
	err = parallel(ctx, n, func(_ int, sp span) error {
		count := 0
		for i := sp.from; i < sp.to; i += 64 {
			k := min(64, sp.to-i)
			yes, no := kleene(op, a, b, i, k)
			storeWord(values, i, k, yes)
			if valid != nil {
				storeWord(valid, i, k, yes|no)
				count += bits.OnesCount64(yes | no)
			}
		}
		known.Add(int64(count))
		return nil
	})
	if valid != nil {
		o.parts.Nulls = n - known.Load()
	}
	return o.column(err)
}

// wholeBits reports whether o is a column whose bits begin at a byte.
func wholeBits(o operand) bool { return o.col != nil && o.col.Offset()&7 == 0 }

// logicBytes is op of two columns without nulls, by bytes.
func (l *loops) logicBytes(ctx context.Context, op kernels.LogicOp, dst memory.Bitmap, a, b *memory.Column) error {
	x, y := a.Bits()[a.Offset()>>3:], b.Bits()[b.Offset()>>3:]
	loop := l.bitmap.xor
	switch op {
	case kernels.And:
		loop = l.bitmap.and
	case kernels.Or:
		loop = l.bitmap.or
	case kernels.AndNot:
		x, y, loop = y, x, l.bitmap.andNot
	}
	return parallelBy(ctx, bitMorsel, a.Len(), func(_ int, s span) error {
		from, to := s.from>>3, memory.BitmapBytes(s.to)
		loop(dst[from:to], x[from:to], y[from:to])
		if rest := uint(s.to & 7); rest != 0 {
			dst[to-1] &= 1<<rest - 1
		}
		return nil
	})
}

// kleene is op of rows [i, i+n): where it is true and where it is false.
func kleene(op kernels.LogicOp, a, b operand, i, n int64) (yes, no uint64) {
	ay, an := truths(a, i, n)
	by, bn := truths(b, i, n)
	return kleeneWords(op, ay, an, by, bn)
}

// kleeneWords is op of words that say where two bools are true and where false.
func kleeneWords(op kernels.LogicOp, ay, an, by, bn uint64) (yes, no uint64) {
	switch op {
	case kernels.And:
		return ay & by, an | bn
	case kernels.Or:
		return ay | by, an & bn
	case kernels.AndNot:
		return ay & bn, an | by
	default:
		return ay&bn | an&by, ay&by | an&bn
	}
}

// not is the CPU's NotFunc.
func not(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	o := newOut(s, c.Type(), c.Len())
	err := o.nullsOf(c)
	if err == nil {
		err = o.bits()
	}
	if err != nil {
		return o.column(err)
	}
	dst := o.bitmap(1)
	err = parallel(ctx, c.Len(), func(_ int, sp span) error {
		for i := sp.from; i < sp.to; i += 64 {
			k := min(64, sp.to-i)
			storeWord(dst, i, k, ^c.Bits().Word(c.Offset()+i, k)&(^uint64(0)>>(64-uint(k))))
		}
		return nil
	})
	return o.column(err)
}
