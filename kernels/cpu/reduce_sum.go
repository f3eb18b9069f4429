package cpu

import (
	"context"
	"math/big"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// sumRun is how many values of 64 bits are summed at a time: few enough to be in
// the first-level cache still when their sum follows their extremes.
const sumRun = 1 << 11

// sumWords is the exact sum of a column of integers of 64 bits. Each run is looked
// at first: where its extremes prove that its sum fits 64 bits, as they do in all
// but a few columns, the loop that wraps takes it. What lies under nulls can make
// a run look worse than it is, which costs time and no more.
func sumWords[T int64 | uint64](ctx context.Context, l *loops, c *memory.Column) (*big.Int, error) {
	loops := reductionsOf[T](l)
	values, nulls := valuesOf[T](c), hasNulls(c)
	signed := ^T(0) < 0
	var total wide
	var mu sync.Mutex
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		var some wide
		for from := s.from; from < s.to; from += sumRun {
			n := int(min(sumRun, s.to-from))
			v := values(nil, from, n)
			switch {
			case !provesSum(loops, v, signed):
				eachValid(c, nulls, from, v, func(x T) { some.add(uint64(x), highOf(uint64(x), signed)) })
			case nulls:
				sum := loops.sumValid(v, validBytes(c, from, n))
				some.add(sum, highOf(sum, signed))
			default:
				sum := loops.sum(v)
				some.add(sum, highOf(sum, signed))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		total.add(some.low, some.high)
		return nil
	})
	return total.big(), err
}

// provesSum reports whether the extremes of values prove that 64 bits hold their
// sum.
func provesSum[T int64 | uint64](loops *reductions[T], v []T, signed bool) bool {
	n := uint64(len(v))
	if !signed {
		return uint64(loops.greatest(v, v[0])) <= (1<<64-1)/n
	}
	low, high := loops.extremes(v, v[0], v[0])
	return magnitude(uint64(low), uint64(high)) <= (1<<63-1)/n
}

// magnitude is the greatest distance from 0 of signed values from low to high.
func magnitude(low, high uint64) uint64 {
	m := uint64(0)
	for _, v := range [2]uint64{low, high} {
		if int64(v) < 0 {
			v = -v
		}
		m = max(m, v)
	}
	return m
}

// highOf is the high half of a word as 128 bits.
func highOf(w uint64, signed bool) int64 {
	if signed {
		return int64(w) >> 63
	}
	return 0
}

func (w wide) big() *big.Int { return decimal{w.low, uint64(w.high)}.big() }

// exactIntegers is the exact sum of a column of integers or durations.
func (l *loops) exactIntegers(ctx context.Context, c *memory.Column) (*big.Int, error) {
	switch valueType(c).ID() {
	case arrow.INT64, arrow.DURATION:
		return sumWords[int64](ctx, l, c)
	case arrow.UINT64:
		return sumWords[uint64](ctx, l, c)
	default:
		sum, err := l.sumRuns(ctx, c)
		return sum.big(), err
	}
}

// exactProduct is the product of a column of integers.
func (l *loops) exactProduct(ctx context.Context, c *memory.Column) (kernels.ExactProduct, error) {
	switch valueType(c).ID() {
	case arrow.INT8:
		return productOf[int8](ctx, c)
	case arrow.INT16:
		return productOf[int16](ctx, c)
	case arrow.INT32:
		return productOf[int32](ctx, c)
	case arrow.UINT8:
		return productOf[uint8](ctx, c)
	case arrow.UINT16:
		return productOf[uint16](ctx, c)
	case arrow.UINT32:
		return productOf[uint32](ctx, c)
	case arrow.UINT64:
		return productOf[uint64](ctx, c)
	default:
		return productOf[int64](ctx, c)
	}
}

func productOf[T integer](ctx context.Context, c *memory.Column) (kernels.ExactProduct, error) {
	values, nulls, run := valuesOf[T](c), hasNulls(c), runOf(c)
	signed := ^T(0) < 0
	product := kernels.One()
	var mu sync.Mutex
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		all := kernels.One()
		for from := s.from; from < s.to; from += run {
			v := values(nil, from, int(min(run, s.to-from)))
			eachValid(c, nulls, from, v, func(x T) { all.Times(uint64(x), signed) })
		}
		mu.Lock()
		defer mu.Unlock()
		product.Join(all)
		return nil
	})
	return product, err
}
