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
func (l *loops) ifElse(ctx context.Context, s device.Stream, cond *memory.Column, a, b kernels.Datum) (*memory.Column, error) {
	t, err := kernels.MixType(a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	if t.ID() == arrow.NULL || cond.Len() == 0 {
		return nullColumn(s, t, cond.Len())
	}
	return l.chooseColumns(ctx, s, t, condition{cond.Bits(), cond.Offset(), cond}, a, b)
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

// bytes is where a morsel's rows are true, as a bitmap of its own, with anything
// for a row that is null or after the last.
func (c condition) bytes(s span) []byte {
	rows := s.to - s.from
	if (c.offset+s.from)&7 == 0 {
		return c.bits[(c.offset+s.from)>>3:][:memory.BitmapBytes(rows)]
	}
	b := make(memory.Bitmap, memory.BitmapBytes(rows))
	for i := int64(0); i < rows; i += 64 {
		k := min(64, rows-i)
		storeWord(b, i, k, c.bits.Word(c.offset+s.from+i, k))
	}
	return b
}

// chooseColumns takes a where cond is true and b where it is false. One of them or
// cond is a column of n rows. t is not null-typed.
func (l *loops) chooseColumns(ctx context.Context, s device.Stream, t arrow.DataType, cond condition, x, y kernels.Datum) (*memory.Column, error) {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return l.chooseDictionary(ctx, s, d, cond, x, y)
	}
	a, b := operandOf(x), operandOf(y)
	n := rowsOf(a, b, operand{col: cond.nulls})
	o := newOut(s, t, n)
	if a.null() || b.null() || hasNulls(a.col) || hasNulls(b.col) || hasNulls(cond.nulls) {
		if err := o.chooseValidity(ctx, cond, a, b); err != nil {
			return o.column(err)
		}
	}
	var err error
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
			err = chooseFixed(ctx, l, o, cond, a, b, uint8(a.val.Uint64()), uint8(b.val.Uint64()))
		case 2:
			err = chooseFixed(ctx, l, o, cond, a, b, uint16(a.val.Uint64()), uint16(b.val.Uint64()))
		case 4:
			err = chooseFixed(ctx, l, o, cond, a, b, uint32(a.val.Uint64()), uint32(b.val.Uint64()))
		case 8:
			err = chooseFixed(ctx, l, o, cond, a, b, a.val.Uint64(), b.val.Uint64())
		default:
			err = chooseFixed(ctx, l, o, cond, a, b, decimalOf(a.val), decimalOf(b.val))
		}
	}
	return o.column(err)
}

// chooseValidity makes the validity of a choice, if any row is null.
func (o *out) chooseValidity(ctx context.Context, cond condition, a, b operand) error {
	n := o.parts.Len
	err := o.buffer(0, memory.BitmapBytes(n))
	if err != nil {
		return err
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
		return err
	}
	if o.parts.Nulls = n - known.Load(); o.parts.Nulls == 0 {
		o.parts.Buffers[0].Release()
		o.parts.Buffers[0] = nil
	}
	return nil
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

// chooseRun is the rows that are chosen at a time: as many copies as there are
// of a scalar.
const chooseRun = 1024

// chooseFixed chooses among values of a fixed width; va and vb are the bits of
// the scalars.
func chooseFixed[T any](ctx context.Context, l *loops, o *out, cond condition, a, b operand, va, vb T) error {
	if err := o.values(); err != nil {
		return err
	}
	dst, loop := view[T](o, 1), chooserOf[T](l)
	rows := func(o operand, scalar T) func(from, to int64) []T {
		if o.col != nil {
			v := memory.Values[T](o.col)
			return func(from, to int64) []T { return v[from:to] }
		}
		copies := make([]T, chooseRun)
		for i := range copies {
			copies[i] = scalar
		}
		return func(from, to int64) []T { return copies[:to-from] }
	}
	p, q := rows(a, va), rows(b, vb)
	return parallel(ctx, o.parts.Len, func(_ int, s span) error {
		mask := cond.bytes(s)
		for i := s.from; i < s.to; i += chooseRun {
			to := min(i+chooseRun, s.to)
			loop(dst[i:to], p(i, to), q(i, to), mask[(i-s.from)>>3:])
		}
		return nil
	})
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
func (l *loops) chooseDictionary(ctx context.Context, s device.Stream, t *arrow.DictionaryType, cond condition, x, y kernels.Datum) (*memory.Column, error) {
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
	chosen, err := l.chooseColumns(ctx, s, t.ValueType, cond, plain[0], plain[1])
	if err != nil {
		return nil, err
	}
	defer chosen.Release()
	return encode(ctx, s, chosen, t)
}
