package cpu

import (
	"context"
	"math/big"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// foldIntegers is the sum or product of a column of integers or durations,
// wrapped to 64 bits.
func (l *loops) foldIntegers(ctx context.Context, op kernels.Aggregation, c *memory.Column) (uint64, error) {
	switch valueType(c).ID() {
	case arrow.INT8:
		return foldOf[int8](ctx, l, op, c)
	case arrow.INT16:
		return foldOf[int16](ctx, l, op, c)
	case arrow.INT32:
		return foldOf[int32](ctx, l, op, c)
	case arrow.UINT8:
		return foldOf[uint8](ctx, l, op, c)
	case arrow.UINT16:
		return foldOf[uint16](ctx, l, op, c)
	case arrow.UINT32:
		return foldOf[uint32](ctx, l, op, c)
	default:
		return foldOf[uint64](ctx, l, op, c)
	}
}

func foldOf[T integer](ctx context.Context, l *loops, op kernels.Aggregation, c *memory.Column) (uint64, error) {
	loops := reductionsOf[T](l)
	values, nulls, run := valuesOf[T](c), hasNulls(c), runOf(c)
	var sum atomic.Uint64
	product := uint64(1)
	var mu sync.Mutex
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		some, all := uint64(0), uint64(1)
		for from := s.from; from < s.to; from += run {
			n := int(min(run, s.to-from))
			switch v := values(nil, from, n); {
			case op == kernels.Product:
				eachValid(c, nulls, from, v, func(x T) { all *= uint64(x) })
			case nulls:
				some += loops.sumValid(v, validBytes(c, from, n))
			default:
				some += loops.sum(v)
			}
		}
		sum.Add(some)
		mu.Lock()
		defer mu.Unlock()
		product *= all
		return nil
	})
	if op == kernels.Product {
		return product, err
	}
	return sum.Load(), err
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

// exactSum is the sum of a column of integers or decimals (unscaled).
func exactSum(ctx context.Context, c *memory.Column) (*big.Int, error) {
	switch valueType(c).ID() {
	case arrow.INT8:
		return exactOf(ctx, c, signedLimbs[int8])
	case arrow.INT16:
		return exactOf(ctx, c, signedLimbs[int16])
	case arrow.INT32:
		return exactOf(ctx, c, signedLimbs[int32])
	case arrow.UINT8:
		return exactOf(ctx, c, unsignedLimbs[uint8])
	case arrow.UINT16:
		return exactOf(ctx, c, unsignedLimbs[uint16])
	case arrow.UINT32:
		return exactOf(ctx, c, unsignedLimbs[uint32])
	case arrow.UINT64:
		return exactOf(ctx, c, unsignedLimbs[uint64])
	case arrow.DECIMAL128:
		return exactOf(ctx, c, decimalLimbs)
	default:
		return exactOf(ctx, c, signedLimbs[int64])
	}
}

// limbs are sums of the 32-bit digits of numbers, the last of them signed; of
// a morsel's numbers none can overflow.
type limbs [4]int64

func signedLimbs[T int8 | int16 | int32 | int64](l *limbs, v []T, w uint64) {
	low, high := int64(0), int64(0)
	if w == allValid {
		for _, x := range v {
			low += int64(x) & 0xffffffff
			high += int64(x) >> 32
		}
	} else {
		for _, x := range v {
			y := int64(x) & -int64(w&1)
			low += y & 0xffffffff
			high += y >> 32
			w >>= 1
		}
	}
	l[0] += low
	l[1] += high
}

func unsignedLimbs[T uint8 | uint16 | uint32 | uint64](l *limbs, v []T, w uint64) {
	low, high := uint64(0), uint64(0)
	if w == allValid {
		for _, x := range v {
			low += uint64(x) & 0xffffffff
			high += uint64(x) >> 32
		}
	} else {
		for _, x := range v {
			y := uint64(x) & -(w & 1)
			low += y & 0xffffffff
			high += y >> 32
			w >>= 1
		}
	}
	l[0] += int64(low)
	l[1] += int64(high)
}

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

func exactOf[T any](ctx context.Context, c *memory.Column, take func(*limbs, []T, uint64)) (*big.Int, error) {
	values, nulls := valuesOf[T](c), hasNulls(c)
	total := new(big.Int)
	var mu sync.Mutex
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		var l limbs
		for from := s.from; from < s.to; from += block {
			v := values(nil, from, int(min(block, s.to-from)))
			eachRun(c, nulls, from, v, func(v []T, w uint64) { take(&l, v, w) })
		}
		sum := new(big.Int)
		for i := len(l) - 1; i >= 0; i-- {
			sum.Add(sum.Lsh(sum, 32), big.NewInt(l[i]))
		}
		mu.Lock()
		defer mu.Unlock()
		total.Add(total, sum)
		return nil
	})
	return total, err
}
