package cpu

import (
	"context"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// morselBlocks is how many blocks of the shape of sums a morsel has: a power
// of two, so that joining neighbours first within morsels and then among them
// is joining them throughout.
const morselBlocks = morsel / kernels.ReduceBlock

// two is a pair of sums that are taken at once.
type two [2]float64

// lanes are the values of one block as floats; what is null is replaced.
type lanes = [kernels.ReduceBlock]float64

// floatSource gives values of a column as floats: rows [from, from+n), n at
// most a block, with nulls replaced by a number, in room or where they are.
type floatSource func(room *lanes, from int64, n int, null float64) []float64

// floatsOf is the source for a column of numbers or decimals.
func floatsOf(c *memory.Column) floatSource {
	switch v := valueType(c); v.ID() {
	case arrow.INT8:
		return convert[int8](c)
	case arrow.INT16:
		return convert[int16](c)
	case arrow.INT32:
		return convert[int32](c)
	case arrow.INT64:
		return convert[int64](c)
	case arrow.UINT8:
		return convert[uint8](c)
	case arrow.UINT16:
		return convert[uint16](c)
	case arrow.UINT32:
		return convert[uint32](c)
	case arrow.UINT64:
		return convert[uint64](c)
	case arrow.FLOAT32:
		return convert[float32](c)
	case arrow.DECIMAL128:
		scale := v.(*arrow.Decimal128Type).Scale
		values := valuesOf[[2]uint64](c)
		return func(room *lanes, from int64, n int, null float64) []float64 {
			for i := range n {
				room[i] = null
			}
			eachRow(c, from, values(nil, from, n), func(i int, x [2]uint64) {
				room[i] = decimal128.New(int64(x[1]), x[0]).ToFloat64(scale)
			})
			return room[:n]
		}
	default:
		values := valuesOf[float64](c)
		if !hasNulls(c) {
			return func(room *lanes, from int64, n int, _ float64) []float64 { return values(room[:], from, n) }
		}
		return convert[float64](c)
	}
}

// eachRow calls f for the values that are not null, with their places in v.
func eachRow[T any](c *memory.Column, from int64, v []T, f func(i int, x T)) {
	for i := 0; i < len(v); i += 64 {
		for w := validWord(c, from+int64(i), int64(min(64, len(v)-i))); w != 0; w &= w - 1 {
			k := i + bits.TrailingZeros64(w)
			f(k, v[k])
		}
	}
}

// convert is the source for a type that float64 takes by conversion.
func convert[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](c *memory.Column) floatSource {
	values, nulls := valuesOf[T](c), hasNulls(c)
	return func(room *lanes, from int64, n int, null float64) []float64 {
		v := values(nil, from, n)
		if !nulls {
			for i, x := range v {
				room[i] = float64(x)
			}
			return room[:n]
		}
		for i := 0; i < n; i += 64 {
			part := v[i:min(i+64, n)]
			convertValid(room[i:][:len(part)], part, validWord(c, from+int64(i), int64(len(part))), null)
		}
		return room[:n]
	}
}

// convertValid converts up to 64 values, those whose bit is not set to null,
// without a branch for each.
func convertValid[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](dst []float64, v []T, w uint64, null float64) {
	if bits.OnesCount64(w) == len(v) {
		for i, x := range v {
			dst[i] = float64(x)
		}
		return
	}
	other := math.Float64bits(null)
	for i, x := range v {
		keep := -(w & 1)
		w >>= 1
		dst[i] = math.Float64frombits(math.Float64bits(float64(x))&keep | other&^keep)
	}
}

// valuesOf gives values of a column of a fixed width: n rows from a row on,
// of a dictionary column in room (made where nil) with 0 for a bad index,
// which only a null can have.
func valuesOf[T any](c *memory.Column) func(room []T, from int64, n int) []T {
	d := c.Dictionary()
	if d == nil {
		v := memory.Values[T](c)
		return func(_ []T, from int64, n int) []T { return v[from : from+int64(n)] }
	}
	v := memory.Values[T](d)
	return func(room []T, from int64, n int) []T {
		if room == nil {
			room = make([]T, n)
		}
		for i := range n {
			var x T
			if k := c.Index(from + int64(i)); uint64(k) < uint64(len(v)) {
				x = v[k]
			}
			room[i] = x
		}
		return room[:n]
	}
}

// inShape takes in all values in the shape of kernels.ReduceFunc: of does for
// a block, join for two blocks.
func inShape(ctx context.Context, c *memory.Column, source floatSource, null float64, of func(v []float64) two, join func(a, b two) two) (two, error) {
	parts := make([]two, morsels(c.Len()))
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		var room lanes
		var blocks [morselBlocks]two
		n := 0
		for from := s.from; from < s.to; from += kernels.ReduceBlock {
			v := source(&room, from, int(min(kernels.ReduceBlock, s.to-from)), null)
			blocks[n] = of(v)
			n++
		}
		parts[s.index] = neighbours(blocks[:n], join)
		return nil
	})
	if err != nil {
		return two{}, err
	}
	return neighbours(parts, join), nil
}

// neighbours joins neighbours until one is left.
func neighbours(v []two, join func(a, b two) two) two {
	for len(v) > 1 {
		for i := 0; i < len(v); i += 2 {
			if i+1 < len(v) {
				v[i/2] = join(v[i], v[i+1])
			} else {
				v[i/2] = v[i]
			}
		}
		v = v[:(len(v)+1)/2]
	}
	return v[0]
}

func add(a, b two) two { return two{a[0] + b[0], a[1] + b[1]} }

// sumFloats is the sum of a column of floats that has rows.
func (l *loops) sumFloats(ctx context.Context, c *memory.Column) (float64, error) {
	if plainFloats(c) {
		sums, err := inBlocksOf(ctx, c, func(d, _, v []float64, valid []byte) {
			if valid == nil {
				l.reduce.sumBlocks(d, v)
			} else {
				l.reduce.sumBlocksValid(d, v, valid)
			}
		}, 0, func(v []float64) two { return two{sumLanes(v)} })
		return sums[0], err
	}
	sums, err := inShape(ctx, c, floatsOf(c), 0, func(v []float64) two { return two{sumLanes(v)} }, add)
	return sums[0], err
}

// plainFloats reports whether the rows of c are float64 values side by side.
func plainFloats(c *memory.Column) bool { return c.Type().ID() == arrow.FLOAT64 }

// inBlocksOf is inShape for sums of float64 values where they lie: whole does
// for as many whole blocks as d and q have room for, valid being nil where no
// row is null; of does for a block that is not whole, with null for nulls.
func inBlocksOf(ctx context.Context, c *memory.Column, whole func(d, q, v []float64, valid []byte), null float64, of func(v []float64) two) (two, error) {
	parts := make([]two, morsels(c.Len()))
	values, nulls := memory.Values[float64](c), hasNulls(c)
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		sums := make([]float64, 2*morselBlocks)
		v := values[s.from:s.to]
		n := len(v) / kernels.ReduceBlock
		d, q := sums[:n], sums[n:2*n]
		var valid []byte
		if nulls {
			valid = validBytes(c, s.from, len(v))
		}
		whole(d, q, v, valid)
		var blocks [morselBlocks]two
		for i := range d {
			blocks[i] = two{d[i], q[i]}
		}
		if rest := v[n*kernels.ReduceBlock:]; len(rest) > 0 {
			if nulls {
				rest = onlyValid(make([]float64, len(rest)), rest, valid[n*kernels.ReduceBlock/8:], null)
			}
			blocks[n] = of(rest)
			n++
		}
		parts[s.index] = neighbours(blocks[:n], add)
		return nil
	})
	if err != nil {
		return two{}, err
	}
	return neighbours(parts, add), nil
}

// multiplyFloats is the product of a column of floats that has rows.
func multiplyFloats(ctx context.Context, c *memory.Column) (float64, error) {
	product, err := inShape(ctx, c, floatsOf(c), 1, func(v []float64) two { return two{multiplyLanes(v)} },
		func(a, b two) two { return two{a[0] * b[0]} })
	return product[0], err
}

// deviations are the sums of the differences from the mean and of their
// squares. A null is as good as the mean; where that is not finite the result
// is NaN in any case.
func (l *loops) deviations(ctx context.Context, c *memory.Column, mean float64) (d, squares float64, err error) {
	if plainFloats(c) {
		sums, err := inBlocksOf(ctx, c, func(d, q, v []float64, valid []byte) {
			if valid == nil {
				l.reduce.deviateBlocks(d, q, v, mean)
			} else {
				l.reduce.deviateBlocksValid(d, q, v, valid, mean)
			}
		}, mean, func(v []float64) two { return deviateLanes(v, mean) })
		return sums[0], sums[1], err
	}
	sums, err := inShape(ctx, c, floatsOf(c), mean, func(v []float64) two { return deviateLanes(v, mean) }, add)
	return sums[0], sums[1], err
}

// sumLanes sums a block.
func sumLanes(v []float64) float64 {
	var l0, l1, l2, l3, l4, l5, l6, l7 float64
	i := 0
	for ; i+8 <= len(v); i += 8 {
		x := (*[8]float64)(v[i:])
		l0 += x[0]
		l1 += x[1]
		l2 += x[2]
		l3 += x[3]
		l4 += x[4]
		l5 += x[5]
		l6 += x[6]
		l7 += x[7]
	}
	if i < len(v) {
		var x [8]float64
		copy(x[:], v[i:])
		l0, l1, l2, l3 = l0+x[0], l1+x[1], l2+x[2], l3+x[3]
		l4, l5, l6, l7 = l4+x[4], l5+x[5], l6+x[6], l7+x[7]
	}
	return ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))
}

// multiplyLanes multiplies a block.
func multiplyLanes(v []float64) float64 {
	l := [8]float64{1, 1, 1, 1, 1, 1, 1, 1}
	for i, x := range v {
		l[i&7] *= x
	}
	return ((l[0] * l[4]) * (l[2] * l[6])) * ((l[1] * l[5]) * (l[3] * l[7]))
}

// deviateLanes sums a block's differences from the mean, and their squares,
// four lanes at a time to stay within the registers.
func deviateLanes(v []float64, mean float64) two {
	var room lanes
	if len(v)&7 != 0 {
		n := copy(room[:], v)
		for v = room[:roundUp(n, 8)]; n < len(v); n++ {
			v[n] = mean
		}
	}
	var d, q [8]float64
	for half := 0; half < 8; half += 4 {
		var d0, d1, d2, d3, q0, q1, q2, q3 float64
		for i := half; i+4 <= len(v); i += 8 {
			x := (*[4]float64)(v[i:])
			e0, e1, e2, e3 := x[0]-mean, x[1]-mean, x[2]-mean, x[3]-mean
			d0 += e0
			d1 += e1
			d2 += e2
			d3 += e3
			q0 += float64(e0 * e0)
			q1 += float64(e1 * e1)
			q2 += float64(e2 * e2)
			q3 += float64(e3 * e3)
		}
		d[half], d[half+1], d[half+2], d[half+3] = d0, d1, d2, d3
		q[half], q[half+1], q[half+2], q[half+3] = q0, q1, q2, q3
	}
	return two{
		((d[0] + d[4]) + (d[2] + d[6])) + ((d[1] + d[5]) + (d[3] + d[7])),
		((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7])),
	}
}
