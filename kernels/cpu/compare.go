package cpu

import (
	"cmp"
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// compare is the CPU's CompareFunc.
func (l *loops) compareColumns(ctx context.Context, s device.Stream, op kernels.CompareOp, x, y kernels.Datum) (*memory.Column, error) {
	a, b := operandOf(x), operandOf(y)
	n := rowsOf(a, b)
	if a.null() || b.null() || x.Type().ID() == arrow.NULL {
		return nullColumn(s, arrow.FixedWidthTypes.Boolean, n)
	}
	if a.col == nil { // the scalar stands on the right from here on
		a, b, op = b, a, op.Swapped()
	}
	if d := a.col.Dictionary(); d != nil && b.col == nil {
		return l.compareDictionary(ctx, s, op, a.col, b.val)
	}
	for _, side := range []*operand{&a, &b} {
		if side.col == nil || side.col.Dictionary() == nil {
			continue
		}
		plain, err := decode(ctx, s, side.col)
		if err != nil {
			return nil, err
		}
		defer plain.Release()
		side.col = plain
	}
	if a.col.Type().ID() == arrow.NULL { // of a dictionary of nulls
		return nullColumn(s, arrow.FixedWidthTypes.Boolean, n)
	}
	o := newOut(s, arrow.FixedWidthTypes.Boolean, n)
	err := o.nullsOf(a.col, b.col)
	if err == nil {
		err = o.bits()
	}
	if err == nil {
		err = parallel(ctx, n, l.comparison(op, o.bitmap(1), a, b))
	}
	return o.column(err)
}

// compareDictionary compares each value of the dictionary once.
func (l *loops) compareDictionary(ctx context.Context, s device.Stream, op kernels.CompareOp, c *memory.Column, v kernels.Scalar) (*memory.Column, error) {
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	each, err := l.compareColumns(ctx, s, op, c.Dictionary(), v)
	if err != nil {
		return nil, err
	}
	defer each.Release()
	if err = o.nullsOf(c); err == nil {
		err = o.bits()
	}
	if err == nil {
		table := make([]byte, each.Len())
		for i := range table {
			table[i] = bit(each.Bits().Get(int64(i)))
		}
		err = lookUp(ctx, o.bitmap(1), c, table)
	}
	return o.column(err)
}

// comparison is the loop for the operands' type. a is a column.
func (l *loops) comparison(op kernels.CompareOp, dst memory.Bitmap, a, b operand) func(int, span) error {
	switch storageID(a.col.Type()) {
	case arrow.BOOL:
		return compareBits(op, dst, a, b)
	case arrow.INT8:
		return compareNumbers[int8](l, op, dst, a, b)
	case arrow.INT16:
		return compareNumbers[int16](l, op, dst, a, b)
	case arrow.INT32:
		return compareNumbers[int32](l, op, dst, a, b)
	case arrow.INT64:
		return compareNumbers[int64](l, op, dst, a, b)
	case arrow.UINT8:
		return compareNumbers[uint8](l, op, dst, a, b)
	case arrow.UINT16:
		return compareNumbers[uint16](l, op, dst, a, b)
	case arrow.UINT32:
		return compareNumbers[uint32](l, op, dst, a, b)
	case arrow.UINT64:
		return compareNumbers[uint64](l, op, dst, a, b)
	case arrow.FLOAT32:
		return compareNumbers[float32](l, op, dst, a, b)
	case arrow.FLOAT64:
		return compareNumbers[float64](l, op, dst, a, b)
	case arrow.DECIMAL128:
		return compareDecimals(l, op, dst, a, b)
	case arrow.STRING, arrow.BINARY:
		return compareTexts[int32](l, op, dst, a, b)
	default:
		return compareTexts[int64](l, op, dst, a, b)
	}
}

func compareNumbers[T number](l *loops, op kernels.CompareOp, dst memory.Bitmap, a, b operand) func(int, span) error {
	x := memory.Values[T](a.col)
	if b.col == nil {
		loop := comparisonsOf[T](l).scalar[op]
		v := scalarAs[T](b.val)
		return func(_ int, s span) error {
			loop(dst[s.from>>3:], x[s.from:s.to], v)
			return nil
		}
	}
	y := memory.Values[T](b.col)
	switch op {
	case kernels.Greater, kernels.GreaterEqual:
		x, y, op = y, x, op.Swapped()
	}
	loop := comparisonsOf[T](l).columns[op]
	return func(_ int, s span) error {
		loop(dst[s.from>>3:], x[s.from:s.to], y[s.from:s.to])
		return nil
	}
}

// compareBits compares bools a word at a time.
func compareBits(op kernels.CompareOp, dst memory.Bitmap, a, b operand) func(int, span) error {
	return func(_ int, s span) error {
		for i := s.from; i < s.to; i += 64 {
			n := min(64, s.to-i)
			x, y := truthWord(a, i, n), truthWord(b, i, n)
			storeWord(dst, i, n, compareWords(op, x, y)&lowBits(n))
		}
		return nil
	}
}

// compareWords compares each bit of two words.
func compareWords(op kernels.CompareOp, x, y uint64) uint64 {
	switch op {
	case kernels.Equal:
		return ^(x ^ y)
	case kernels.NotEqual:
		return x ^ y
	case kernels.Less:
		return ^x & y
	case kernels.LessEqual:
		return ^x | y
	case kernels.Greater:
		return x &^ y
	default:
		return x | ^y
	}
}

// truthWord is rows [i, i+n) of a bool operand that is not a null scalar.
func truthWord(o operand, i, n int64) uint64 {
	switch {
	case o.col != nil:
		return o.col.Bits().Word(o.col.Offset()+i, n)
	case o.val.Bool():
		return ^uint64(0) >> (64 - uint(n))
	default:
		return 0
	}
}

// wanted has bit 0 where op holds for less, bit 1 for equal, bit 2 for greater.
func wanted(op kernels.CompareOp) byte {
	return [...]byte{0b010, 0b101, 0b001, 0b011, 0b100, 0b110}[op]
}

// compareDecimal is -1, 0 or 1.
func compareDecimal(a, b decimal) int {
	if a.hi != b.hi {
		return cmp.Compare(int64(a.hi), int64(b.hi))
	}
	return cmp.Compare(a.lo, b.lo)
}

// decimalOf is the unscaled value of a decimal scalar.
func decimalOf(v kernels.Scalar) decimal {
	d := v.Decimal()
	return decimal{d.LowBits(), uint64(d.HighBits())}
}

// compareDecimals compares blocks as integers where all of both sides are.
func compareDecimals(l *loops, op kernels.CompareOp, dst memory.Bitmap, a, b operand) func(int, span) error {
	x, want := memory.Values[[2]uint64](a.col), wanted(op)
	var y [][2]uint64
	var v decimal
	if b.col != nil {
		y = memory.Values[[2]uint64](b.col)
	} else {
		v = decimalOf(b.val)
	}
	rows := func(from, to int64) {
		for i := from; i < to; i += 64 {
			n := min(64, to-i)
			w := uint64(0)
			for k := range n {
				r := v
				if y != nil {
					r = decimal{y[i+k][0], y[i+k][1]}
				}
				w |= uint64(want>>(compareDecimal(decimal{x[i+k][0], x[i+k][1]}, r)+1)&1) << uint(k)
			}
			storeWord(dst, i, n, w)
		}
	}
	integer, narrow := v.narrow()
	scalar := l.compare.i64.scalar[op]
	exchanged := op == kernels.Greater || op == kernels.GreaterEqual
	if exchanged {
		op = op.Swapped()
	}
	columns := l.compare.i64.columns[op]
	return func(_ int, s span) error {
		var room, other narrowRoom
		return eachBlock(s, func(from, to int64) error {
			ok := narrow
			var left, right []int64
			if ok {
				left, _, ok = l.narrow(&room, x[from:to])
			}
			if ok && y != nil {
				right, _, ok = l.narrow(&other, y[from:to])
			}
			switch {
			case !ok:
				rows(from, to)
			case y == nil:
				scalar(dst[from>>3:], left, integer)
			case exchanged:
				columns(dst[from>>3:], right, left)
			default:
				columns(dst[from>>3:], left, right)
			}
			return nil
		})
	}
}
