package cpu

import (
	"context"
	"math/big"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// sumRuns is the sum of a column of integers or durations: its low word, and the
// whole of it where the values have 32 bits at most, of which the sum of a morsel
// fits 64.
func (l *loops) sumRuns(ctx context.Context, c *memory.Column) (wide, error) {
	switch valueType(c).ID() {
	case arrow.INT8:
		return sumOf[int8](ctx, l, c)
	case arrow.INT16:
		return sumOf[int16](ctx, l, c)
	case arrow.INT32:
		return sumOf[int32](ctx, l, c)
	case arrow.UINT8:
		return sumOf[uint8](ctx, l, c)
	case arrow.UINT16:
		return sumOf[uint16](ctx, l, c)
	case arrow.UINT32:
		return sumOf[uint32](ctx, l, c)
	default:
		return sumOf[uint64](ctx, l, c)
	}
}

func sumOf[T integer](ctx context.Context, l *loops, c *memory.Column) (wide, error) {
	loops := reductionsOf[T](l)
	values, nulls, run := valuesOf[T](c), hasNulls(c), runOf(c)
	signed := ^T(0) < 0
	var sum wide
	var mu sync.Mutex
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		some := uint64(0)
		for from := s.from; from < s.to; from += run {
			n := int(min(run, s.to-from))
			if v := values(nil, from, n); nulls {
				some += loops.sumValid(v, validBytes(c, from, n))
			} else {
				some += loops.sum(v)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sum.add(some, highOf(some, signed))
		return nil
	})
	return sum, err
}

// allValid is the word of a run of any length without nulls.
const allValid = ^uint64(0)

// eachRun calls f for runs of values from a row on, with a word that has a bit
// set for each that is not null: allValid for runs, long ones too, in which
// none is, else of up to 64 of which one is not.
func eachRun[T any](c *memory.Column, nulls bool, from int64, v []T, f func(v []T, w uint64)) {
	if !nulls {
		f(v, allValid)
		return
	}
	for i := 0; i < len(v); i += 64 {
		part := v[i:min(i+64, len(v))]
		switch w := validWord(c, from+int64(i), int64(len(part))); {
		case bits.OnesCount64(w) == len(part):
			f(part, allValid)
		case w != 0:
			f(part, w)
		}
	}
}

// eachValid calls f for the values that are not null, in order.
func eachValid[T any](c *memory.Column, nulls bool, from int64, v []T, f func(T)) {
	eachRun(c, nulls, from, v, func(v []T, w uint64) {
		if w == allValid {
			for _, x := range v {
				f(x)
			}
			return
		}
		for ; w != 0; w &= w - 1 {
			f(v[bits.TrailingZeros64(w)])
		}
	})
}

// limbs are sums of the 32-bit digits of numbers, the last of them signed; of
// a morsel's numbers none can overflow.
type limbs [4]int64

func decimalLimbs(l *limbs, v [][2]uint64, w uint64) {
	for i, x := range v {
		if w == allValid || w>>uint(i)&1 != 0 {
			l[0] += int64(x[0] & 0xffffffff)
			l[1] += int64(x[0] >> 32)
			l[2] += int64(x[1] & 0xffffffff)
			l[3] += int64(x[1]) >> 32
		}
	}
}

// sumDecimals is the exact sum of a column of decimals (unscaled), by blocks whose
// magnitude proves that 64 bits hold their sum.
func (l *loops) sumDecimals(ctx context.Context, c *memory.Column) (*big.Int, error) {
	values, nulls := valuesOf[[2]uint64](c), hasNulls(c)
	total := new(big.Int)
	var mu sync.Mutex
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		var room narrowRoom
		var past limbs
		var some wide
		_ = eachBlock(s, func(from, to int64) error {
			n := int(to - from)
			all := values(nil, from, n)
			v, longest, ok := l.narrow(&room, all)
			switch {
			case !ok || longest+bits.Len(decimalBlock) > narrowBits:
				eachRun(c, nulls, from, all, func(v [][2]uint64, w uint64) { decimalLimbs(&past, v, w) })
			case nulls:
				sum := l.reduce.i64.sumValid(v, validBytes(c, from, n))
				some.add(sum, highOf(sum, true))
			default:
				sum := l.reduce.i64.sum(v)
				some.add(sum, highOf(sum, true))
			}
			return nil
		})
		sum := past.big()
		mu.Lock()
		defer mu.Unlock()
		total.Add(total, sum.Add(sum, some.big()))
		return nil
	})
	return total, err
}

func (l limbs) big() *big.Int {
	sum := new(big.Int)
	for i := len(l) - 1; i >= 0; i-- {
		sum.Add(sum.Lsh(sum, 32), big.NewInt(l[i]))
	}
	return sum
}
