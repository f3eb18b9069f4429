package cpu

import (
	"math/bits"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// withoutNulls copies values of rows from a row on to dst, and a number in place of
// nulls.
func withoutNulls[T any](j *scanJob, dst, v []T, from int64, null T) {
	copy(dst, v)
	if !j.nulls {
		return
	}
	for i := 0; i < len(v); i += 64 {
		part := dst[i:min(i+64, len(dst))]
		w := validWord(j.c, from+int64(i), int64(len(part)))
		for w = ^w & (allValid >> (64 - uint(len(part)))); w != 0; w &= w - 1 {
			part[bits.TrailingZeros64(w)] = null
		}
	}
}

// scanIntegers is the sum or product of integers, wrapping.
func scanIntegers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](j *scanJob, identity T) error {
	v, dst := memory.Values[T](j.c), view[T](j.r, 1)
	totals := make([]T, morsels(j.rows)+1)
	sum := j.op == kernels.CumulativeSum
	if len(totals) > 2 {
		err := parallel(j.ctx, j.rows, func(_ int, s span) error {
			var room [block]T
			total := identity
			for from := s.from; from < s.to; from += block {
				to := min(from+block, s.to)
				part := v[from:to]
				if j.nulls {
					part = room[:to-from]
					withoutNulls(j, part, v[from:to], from, identity)
				}
				total = totalIntegers(part, total, sum)
			}
			totals[s.index] = total
			return nil
		})
		if err != nil {
			return err
		}
	}
	state := identity
	for i, total := range totals {
		totals[i] = state
		if sum {
			state += total
		} else {
			state *= total
		}
	}
	return parallel(j.ctx, j.rows, func(_ int, s span) error {
		part := dst[s.from:s.to]
		withoutNulls(j, part, v[s.from:s.to], s.from, identity)
		runIntegers(part, totals[s.index], sum, j.o.Exclusive)
		return nil
	})
}

func totalIntegers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](v []T, total T, sum bool) T {
	if sum {
		for _, x := range v {
			total += x
		}
		return total
	}
	for _, x := range v {
		total *= x
	}
	return total
}

// runIntegers scans in place.
func runIntegers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](v []T, state T, sum, exclusive bool) {
	switch {
	case sum && exclusive:
		for i, x := range v {
			v[i] = state
			state += x
		}
	case sum:
		for i, x := range v {
			state += x
			v[i] = state
		}
	case exclusive:
		for i, x := range v {
			v[i] = state
			state *= x
		}
	default:
		for i, x := range v {
			state *= x
			v[i] = state
		}
	}
}

// scanFloats is the sum or product of floats in the shape of
// kernels.ScanFunc.
func scanFloats[T float32 | float64](j *scanJob) error {
	v, dst := memory.Values[T](j.c), view[T](j.r, 1)
	sum, start := j.op == kernels.CumulativeSum, float64(j.op) // 0 or 1
	totals := make([]float64, (j.rows+kernels.ScanBlock-1)/kernels.ScanBlock)
	blocks := func(s span, f func(k int, from, to int64)) {
		for from := s.from; from < s.to; from += kernels.ScanBlock {
			f(int(from/kernels.ScanBlock), from, min(from+kernels.ScanBlock, s.to))
		}
	}
	err := parallel(j.ctx, j.rows, func(_ int, s span) error {
		var room []T
		if j.nulls {
			room = make([]T, kernels.ScanBlock)
		}
		blocks(s, func(k int, from, to int64) {
			part := v[from:to]
			if j.nulls {
				part = room[:to-from]
				withoutNulls(j, part, v[from:to], from, T(start))
			}
			totals[k] = totalFloats(part, start, sum)
		})
		return nil
	})
	if err != nil {
		return err
	}
	state := start
	for k, total := range totals {
		totals[k] = state
		if sum {
			state += total
		} else {
			state *= total
		}
	}
	return parallel(j.ctx, j.rows, func(_ int, s span) error {
		blocks(s, func(k int, from, to int64) {
			part := dst[from:to]
			withoutNulls(j, part, v[from:to], from, T(start))
			runFloats(part, totals[k], sum, j.o.Exclusive)
		})
		return nil
	})
}

func totalFloats[T float32 | float64](v []T, total float64, sum bool) float64 {
	if sum {
		for _, x := range v {
			total += float64(x)
		}
		return total
	}
	for _, x := range v {
		total *= float64(x)
	}
	return total
}

// runFloats scans a block in place; total is that of the blocks before.
func runFloats[T float32 | float64](v []T, total float64, sum, exclusive bool) {
	switch {
	case sum && exclusive:
		state := 0.0
		for i, x := range v {
			v[i] = T(total + state)
			state += float64(x)
		}
	case sum:
		state := 0.0
		for i, x := range v {
			state += float64(x)
			v[i] = T(total + state)
		}
	case exclusive:
		state := 1.0
		for i, x := range v {
			v[i] = T(total * state)
			state *= float64(x)
		}
	default:
		state := 1.0
		for i, x := range v {
			state *= float64(x)
			v[i] = T(total * state)
		}
	}
}

// scanExtremes is the least or greatest value so far; identity stands where
// there is none yet. NaN gives way to any other.
func scanExtremes[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](j *scanJob, identity T) error {
	type found struct {
		value T
		any   bool
	}
	v, dst := memory.Values[T](j.c), view[T](j.r, 1)
	greatest := j.op == kernels.CumulativeMax
	join := func(a, b found) found {
		x, y := b.value, a.value
		if b.any && (!a.any || x == x && (y != y || x != y && (x > y) == greatest)) {
			return b
		}
		return a
	}
	parts := make([]found, morsels(j.rows)+1)
	if len(parts) > 2 {
		err := parallel(j.ctx, j.rows, func(_ int, s span) error {
			best := found{value: identity}
			eachValid(j.c, j.nulls, s.from, v[s.from:s.to], func(x T) { best = join(best, found{x, true}) })
			parts[s.index] = best
			return nil
		})
		if err != nil {
			return err
		}
	}
	best := found{value: identity}
	for i, p := range parts {
		parts[i] = best
		best = join(best, p)
	}
	return parallel(j.ctx, j.rows, func(_ int, s span) error {
		best := parts[s.index]
		for i := s.from; i < s.to; i++ {
			before := best.value
			if j.nulls && j.c.IsNull(i) {
				dst[i] = before
				continue
			}
			best = join(best, found{v[i], true})
			if dst[i] = best.value; j.o.Exclusive {
				dst[i] = before
			}
		}
		return nil
	})
}
