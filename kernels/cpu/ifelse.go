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

// ifElse is the CPU's IfElseFunc.
func ifElse(ctx context.Context, s device.Stream, cond *memory.Column, a, b kernels.Datum) (*memory.Column, error) {
	t, err := kernels.MixType(a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	if t.ID() == arrow.NULL || cond.Len() == 0 {
		return nullColumn(s, t, cond.Len())
	}
	return choose(ctx, s, t, condition{cond.Bits(), cond.Offset(), cond}, a, b)
}

// condition is a bitmap from a bit on, and the column that says where it is
// null, if any.
type condition struct {
	bits   memory.Bitmap
	offset int64
	nulls  *memory.Column
}

// words gives rows [i, i+n): where it is true and where it is false.
func (c condition) words(i, n int64) (yes, no uint64) {
	yes = c.bits.Word(c.offset+i, n)
	valid := ^uint64(0) >> (64 - uint(n))
	if c.nulls != nil {
		valid = validWord(c.nulls, i, n)
	}
	return yes & valid, ^yes & valid
}

// choose takes a where cond is true and b where it is false. One of them or
// cond is a column of n rows. t is not null-typed.
func choose(ctx context.Context, s device.Stream, t arrow.DataType, cond condition, x, y kernels.Datum) (*memory.Column, error) {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return chooseDictionary(ctx, s, d, cond, x, y)
	}
	a, b := operandOf(x), operandOf(y)
	n := rowsOf(a, b, operand{col: cond.nulls})
	o := newOut(s, t, n)
	err := o.buffer(0, memory.BitmapBytes(n))
	if err != nil {
		return o.column(err)
	}
	valid := o.bitmap(0)
	var known atomic.Int64
	err = parallel(ctx, n, func(_ int, sp span) error {
		count := 0
		for i := sp.from; i < sp.to; i += 64 {
			k := min(64, sp.to-i)
			yes, no := cond.words(i, k)
			w := yes&validOf(a, i, k) | no&validOf(b, i, k)
			storeWord(valid, i, k, w)
			count += bits.OnesCount64(w)
		}
		known.Add(int64(count))
		return nil
	})
	if err != nil {
		return o.column(err)
	}
	if o.parts.Nulls = n - known.Load(); o.parts.Nulls == 0 {
		o.parts.Buffers[0].Release()
		o.parts.Buffers[0] = nil
	}
	switch memory.LayoutOf(t) {
	case memory.LayoutBits:
		err = chooseBits(ctx, o, cond, a, b)
	case memory.LayoutBinary:
		err = chooseText[int32](ctx, o, cond, a, b)
	case memory.LayoutLargeBinary:
		err = chooseText[int64](ctx, o, cond, a, b)
	default:
		switch memory.Width(t) {
		case 1:
			err = chooseFixed(ctx, o, cond, a, b, uint8(a.val.Uint64()), uint8(b.val.Uint64()), mixRows)
		case 2:
			err = chooseFixed(ctx, o, cond, a, b, uint16(a.val.Uint64()), uint16(b.val.Uint64()), mixRows)
		case 4:
			err = chooseFixed(ctx, o, cond, a, b, uint32(a.val.Uint64()), uint32(b.val.Uint64()), mixRows)
		case 8:
			err = chooseFixed(ctx, o, cond, a, b, a.val.Uint64(), b.val.Uint64(), mixRows)
		default:
			err = chooseFixed(ctx, o, cond, a, b, decimalOf(a.val), decimalOf(b.val), mixDecimals)
		}
	}
	return o.column(err)
}

// validOf is the validity of rows [i, i+n) of an operand.
func validOf(o operand, i, n int64) uint64 {
	switch {
	case o.col != nil:
		return validWord(o.col, i, n)
	case o.val.Valid():
		return ^uint64(0) >> (64 - uint(n))
	default:
		return 0
	}
}

// chooseFixed chooses among values of a fixed width; va and vb are the bits of
// the scalars, mix the loop for up to 64 rows of which some are of each side.
func chooseFixed[T any](ctx context.Context, o *out, cond condition, a, b operand, va, vb T, mix func(dst, p, q []T, yes uint64)) error {
	if err := o.values(); err != nil {
		return err
	}
	dst := view[T](o, 1)
	var x, y [64]T
	for i := range x {
		x[i], y[i] = va, vb
	}
	rows := func(o operand, scalar []T, i, n int64) []T {
		if o.col == nil {
			return scalar[:n]
		}
		return memory.Values[T](o.col)[i : i+n]
	}
	return parallel(ctx, o.parts.Len, func(_ int, s span) error {
		for i := s.from; i < s.to; i += 64 {
			n := min(64, s.to-i)
			yes, _ := cond.words(i, n)
			run, p, q := dst[i:i+n], rows(a, x[:], i, n), rows(b, y[:], i, n)
			switch yes {
			case 0:
				copy(run, q)
			case ^uint64(0) >> (64 - uint(n)):
				copy(run, p)
			default:
				mix(run, p, q, yes)
			}
		}
		return nil
	})
}

// mixRows takes p where yes has a bit and q elsewhere, without a branch.
func mixRows[T unsigned](dst, p, q []T, yes uint64) {
	p, q = p[:len(dst)], q[:len(dst)]
	for k := range dst {
		mask := -T(yes >> uint(k) & 1)
		dst[k] = q[k] ^ (p[k]^q[k])&mask
	}
}

func mixDecimals(dst, p, q []decimal, yes uint64) {
	for k := range dst {
		if dst[k] = q[k]; yes>>uint(k)&1 != 0 {
			dst[k] = p[k]
		}
	}
}

func chooseBits(ctx context.Context, o *out, cond condition, a, b operand) error {
	if err := o.bits(); err != nil {
		return err
	}
	dst := o.bitmap(1)
	return parallel(ctx, o.parts.Len, func(_ int, s span) error {
		for i := s.from; i < s.to; i += 64 {
			n := min(64, s.to-i)
			yes, no := cond.words(i, n)
			storeWord(dst, i, n, yes&truthWord(a, i, n)|no&truthWord(b, i, n))
		}
		return nil
	})
}

func chooseText[T int32 | int64](ctx context.Context, o *out, cond condition, a, b operand) error {
	rows := func(o operand) func(int64) []byte {
		if o.col == nil {
			v := []byte(o.val.Text())
			return func(int64) []byte { return v }
		}
		return textsOf[T](o.col).at
	}
	p, q, valid := rows(a), rows(b), o.valid()
	at := func(i int64) []byte {
		switch {
		case !rowIn(valid, i):
			return nil
		case cond.bits.Get(cond.offset + i):
			return p(i)
		default:
			return q(i)
		}
	}
	return buildText(ctx, o, func(_ int, s span, lengths []T) {
		for i := range lengths {
			lengths[i] = T(len(at(s.from + int64(i))))
		}
	}, func(_ int, s span, data []byte) {
		for i := s.from; i < s.to; i++ {
			data = data[copy(data, at(i)):]
		}
	})
}

// chooseDictionary chooses among the values and numbers them anew.
func chooseDictionary(ctx context.Context, s device.Stream, t *arrow.DictionaryType, cond condition, x, y kernels.Datum) (*memory.Column, error) {
	var plain [2]kernels.Datum
	for i, d := range []kernels.Datum{x, y} {
		plain[i] = d
		c, ok := d.(*memory.Column)
		if !ok {
			if v := d.(kernels.Scalar); v.Type().ID() == arrow.DICTIONARY {
				plain[i] = v.As(t.ValueType)
			}
			continue
		}
		if c.Dictionary() == nil {
			continue
		}
		values, err := decode(ctx, s, c)
		if err != nil {
			return nil, err
		}
		defer values.Release()
		plain[i] = values
	}
	if t.ValueType.ID() == arrow.NULL {
		n := rowsOf(operandOf(x), operandOf(y), operand{col: cond.nulls})
		return nullColumn(s, t, n)
	}
	chosen, err := choose(ctx, s, t.ValueType, cond, plain[0], plain[1])
	if err != nil {
		return nil, err
	}
	defer chosen.Release()
	return encode(ctx, s, chosen, t)
}
