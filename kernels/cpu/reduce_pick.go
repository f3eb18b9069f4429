package cpu

import (
	"bytes"
	"context"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// pickRow is the row of the first, last, least or greatest value of a column
// that has one.
func (l *loops) pickRow(ctx context.Context, op kernels.Aggregation, c *memory.Column) (int64, error) {
	greatest := op == kernels.Max || op == kernels.ArgMax
	switch {
	case op == kernels.First:
		return firstSet(ctx, c.Len(), func(i, n int64) uint64 { return validWord(c, i, n) })
	case op == kernels.Last:
		return lastValid(ctx, c)
	}
	switch valueType(c).ID() {
	case arrow.INT8:
		return extreme[int8](ctx, l, c, greatest)
	case arrow.INT16:
		return extreme[int16](ctx, l, c, greatest)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return extreme[int32](ctx, l, c, greatest)
	case arrow.UINT8:
		return extreme[uint8](ctx, l, c, greatest)
	case arrow.UINT16:
		return extreme[uint16](ctx, l, c, greatest)
	case arrow.UINT32:
		return extreme[uint32](ctx, l, c, greatest)
	case arrow.UINT64:
		return extreme[uint64](ctx, l, c, greatest)
	case arrow.FLOAT32:
		return extreme[float32](ctx, l, c, greatest)
	case arrow.FLOAT64:
		return extreme[float64](ctx, l, c, greatest)
	case arrow.BOOL:
		return extremeBool(ctx, c, greatest)
	case arrow.DECIMAL128:
		return l.extremeDecimal(ctx, c, greatest)
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return extremeText(ctx, c, greatest)
	default:
		return extreme[int64](ctx, l, c, greatest)
	}
}

// firstSet is the first row whose bit is set, or -1; word gives the bits of up
// to 64 rows.
func firstSet(ctx context.Context, n int64, word func(i, n int64) uint64) (int64, error) {
	for i := int64(0); i < n; i += 64 {
		if i&(morsel-1) == 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return 0, err
			}
		}
		if w := word(i, min(64, n-i)); w != 0 {
			return i + int64(bits.TrailingZeros64(w)), nil
		}
	}
	return -1, nil
}

func lastValid(ctx context.Context, c *memory.Column) (int64, error) {
	for to := c.Len(); to > 0; {
		from := (to - 1) &^ 63
		if from&(morsel-1) == 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return 0, err
			}
		}
		if w := validWord(c, from, to-from); w != 0 {
			return from + int64(bits.Len64(w)) - 1, nil
		}
		to = from
	}
	return -1, nil
}

// extremeBool is the first row with the value sought, or the first at all.
func extremeBool(ctx context.Context, c *memory.Column, greatest bool) (int64, error) {
	row, err := firstSet(ctx, c.Len(), func(i, n int64) uint64 {
		if w := trueWord(c, i, n); greatest {
			return w
		} else {
			return validWord(c, i, n) &^ w
		}
	})
	if err == nil && row < 0 {
		return firstSet(ctx, c.Len(), func(i, n int64) uint64 { return validWord(c, i, n) })
	}
	return row, err
}

// extreme is the row of the first least or greatest number. NaN gives way to
// any other.
func extreme[T number](ctx context.Context, l *loops, c *memory.Column, greatest bool) (int64, error) {
	loops := reductionsOf[T](l)
	all, valid, worst := loops.least, loops.leastValid, greatestNumber[T]()
	if greatest {
		all, valid, worst = loops.greatest, loops.greatestValid, leastNumber[T]()
	}
	values, nulls, run := valuesOf[T](c), hasNulls(c), runOf(c)
	parts := make([]found[T], morsels(c.Len()))
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		best := found[T]{value: worst}
		for from := s.from; from < s.to; from += run {
			n := int(min(run, s.to-from))
			v := values(nil, from, n)
			var bits []byte
			if nulls {
				bits = validBytes(c, from, n)
				best.value = valid(v, bits, best.value)
			} else {
				best.value = all(v, best.value)
			}
			// The worst is found too, unless there is nothing but NaNs and nulls.
			if best.any = best.any || best.value != worst; !best.any {
				for i, x := range v {
					if x == worst && (bits == nil || memory.Bitmap(bits).Get(int64(i))) {
						best.any = true
						break
					}
				}
			}
		}
		parts[s.index] = best
		return nil
	})
	if err != nil {
		return 0, err
	}
	return rowOfExtreme(ctx, c, parts, greatest)
}

// found is the least or the greatest of a morsel, if it has a value.
type found[T number] struct {
	value T
	any   bool
}

// rowOfExtreme is the row of the best of what morsels have found.
func rowOfExtreme[T number](ctx context.Context, c *memory.Column, parts []found[T], greatest bool) (int64, error) {
	at := -1
	for i, p := range parts {
		if p.any && (at < 0 || p.value != parts[at].value && (p.value > parts[at].value) == greatest) {
			at = i
		}
	}
	if at < 0 { // nothing but NaNs
		return firstSet(ctx, c.Len(), func(i, n int64) uint64 { return validWord(c, i, n) })
	}
	from := int64(at) * morsel
	v, nulls := valuesOf[T](c)(nil, from, int(min(morsel, c.Len()-from))), hasNulls(c)
	for i, x := range v {
		if x == parts[at].value && (!nulls || !isNull(c, from+int64(i))) {
			return from + int64(i), nil
		}
	}
	return -1, nil
}

// runOf is how many rows of a column's values are asked for at a time: those of
// a dictionary are copied, so a few.
func runOf(c *memory.Column) int64 {
	if c.Dictionary() != nil {
		return block
	}
	return morsel
}

// extremeBy is the first row that comes before all others by less, which is
// asked about rows that are not null.
func extremeBy(ctx context.Context, c *memory.Column, less func(i, j int64) bool) (int64, error) {
	return bestRow(ctx, c, func(s span) int64 {
		best := int64(-1)
		for i := s.from; i < s.to; i += 64 {
			for w := validWord(c, i, min(64, s.to-i)); w != 0; w &= w - 1 {
				if row := i + int64(bits.TrailingZeros64(w)); best < 0 || less(row, best) {
					best = row
				}
			}
		}
		return best
	}, less)
}

// bestRow is the first of the rows that of gives for spans, -1 for none, that comes
// before all others by less.
func bestRow(ctx context.Context, c *memory.Column, of func(s span) int64, less func(i, j int64) bool) (int64, error) {
	parts := make([]int64, morsels(c.Len()))
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		parts[s.index] = of(s)
		return nil
	})
	best := int64(-1)
	for _, row := range parts {
		if row >= 0 && (best < 0 || less(row, best)) {
			best = row
		}
	}
	return best, err
}

// indexOf gives the place of a row's value: its own, or that in the dictionary
// column that holds it.
func indexOf(c *memory.Column) (values *memory.Column, at func(i int64) int64) {
	if d := c.Dictionary(); d != nil {
		return d, c.Index
	}
	return c, func(i int64) int64 { return i }
}

func extremeText(ctx context.Context, c *memory.Column, greatest bool) (int64, error) {
	values, at := indexOf(c)
	t := newText(kernels.SortKey{Values: values})
	return extremeBy(ctx, c, func(i, j int64) bool {
		k := bytes.Compare(t.at(at(i)), t.at(at(j)))
		return k < 0 && !greatest || k > 0 && greatest
	})
}

// extremeDecimal has blocks of integers give their best value at once.
func (l *loops) extremeDecimal(ctx context.Context, c *memory.Column, greatest bool) (int64, error) {
	if c.Dictionary() != nil {
		values, at := indexOf(c)
		v := memory.Values[decimal](values)
		return extremeBy(ctx, c, func(i, j int64) bool { return beatsDecimal(v[at(i)], v[at(j)], greatest) })
	}
	all, v, nulls := memory.Values[[2]uint64](c), memory.Values[decimal](c), hasNulls(c)
	most, mostValid, worst := l.reduce.i64.least, l.reduce.i64.leastValid, int64(math.MaxInt64)
	if greatest {
		most, mostValid, worst = l.reduce.i64.greatest, l.reduce.i64.greatestValid, math.MinInt64
	}
	return bestRow(ctx, c, func(s span) int64 {
		var room narrowRoom
		best := int64(-1)
		_ = eachBlock(s, func(from, to int64) error {
			var valid memory.Bitmap
			if nulls {
				valid = validBytes(c, from, int(to-from))
			}
			words, _, narrow := l.narrow(&room, all[from:to])
			found := worst
			switch {
			case !narrow:
			case nulls:
				found = mostValid(words, valid, worst)
			default:
				found = most(words, worst)
			}
			if best >= 0 && narrow && !beatsDecimal(decimal{uint64(found), uint64(found >> 63)}, v[best], greatest) {
				return nil
			}
			for i := range to - from {
				if rowIn(valid, i) && (!narrow || words[i] == found) && (best < 0 || beatsDecimal(v[from+i], v[best], greatest)) {
					best = from + i
				}
			}
			return nil
		})
		return best
	}, func(i, j int64) bool { return beatsDecimal(v[i], v[j], greatest) })
}

// beatsDecimal reports whether a is greater than b, or less.
func beatsDecimal(a, b decimal, greatest bool) bool {
	k := compareDecimal(a, b)
	return k > 0 && greatest || k < 0 && !greatest
}
