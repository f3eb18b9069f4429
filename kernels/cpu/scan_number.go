package cpu

import (
	"math/bits"
	"unsafe"

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

// scanBytes are the values that a worker takes at a time, so that the second-level
// cache holds those that are gone over and those that are asked for meanwhile.
const scanBytes = 1 << 18

// scanIntegers is the sum or product of integers, wrapping, in one pass: it is
// limited by reading the column and writing the result once. Signed ones have the
// same bits.
func scanIntegers(l *loops, j *scanJob, width int) error {
	switch width {
	case 1:
		return scanWrapped(j, goRunsBy(l.reduce.u8.sum))
	case 2:
		return scanWrapped(j, goRunsBy(l.reduce.u16.sum))
	case 4:
		return scanWrapped(j, l.runU32)
	default:
		return scanWrapped(j, l.runU64)
	}
}

func scanWrapped[T uint8 | uint16 | uint32 | uint64](j *scanJob, loops runLoops[T]) error {
	v, dst := memory.Values[T](j.c)[:j.rows], view[T](j.r, 1)
	identity := T(j.op) // 0 or 1
	sum, rows := j.op == kernels.CumulativeSum, scanBytes/int(unsafe.Sizeof(identity))
	past := len(dst)*int(unsafe.Sizeof(identity)) >= pastCaches && !j.nulls
	count := (len(v) + rows - 1) / rows
	states, others := newChain(count, identity), workers()
	return tasks(j.ctx, count, func(_, i int) error {
		linked := false
		defer states.guard(&linked)
		a, b := i*rows, min((i+1)*rows, len(v))
		from, to := v[a:b], dst[a:b]
		ahead := v[min(b+(others-1)*rows, len(v)):] // what this worker probably takes next
		if j.nulls {
			withoutNulls(j, to, from, int64(a), identity)
			from = to
		}
		total := identity
		if sum {
			total = loops.total(from, ahead)
		} else {
			total = multiplyAll(from, total)
		}
		state, err := states.link(j.ctx, i, func(before T) T {
			if sum {
				return before + total
			}
			return before * total
		})
		if linked = err == nil; !linked {
			return err
		}
		switch {
		case !sum || j.o.Exclusive:
			runIntegers(to, from, state, sum, j.o.Exclusive)
		case past:
			loops.alongPast(to, from, state, ahead[min(len(from)/2, len(ahead)):])
		default:
			loops.along(to, from, state)
		}
		return nil
	})
}

func multiplyAll[T integer](v []T, total T) T {
	for _, x := range v {
		total *= x
	}
	return total
}

// runIntegers scans v to dst, which may be the same, where runLoops do not.
func runIntegers[T integer](dst, v []T, state T, sum, exclusive bool) {
	dst = dst[:len(v)]
	switch {
	case sum && exclusive:
		for i, x := range v {
			dst[i] = state
			state += x
		}
	case exclusive:
		for i, x := range v {
			dst[i] = state
			state *= x
		}
	default:
		for i, x := range v {
			state *= x
			dst[i] = state
		}
	}
}

// scanBlocks is how many blocks of the shape of scans are a worker's at a time, and
// scanRows the rows in them: scanBytes of float64.
const (
	scanBlocks = 8
	scanRows   = scanBlocks * kernels.ScanBlock
)

// scanFloats is the sum or product of floats in the shape of
// kernels.ScanFunc, in one pass as scanIntegers.
func scanFloats[T float](l *loops, j *scanJob) error {
	v, dst := memory.Values[T](j.c)[:j.rows], view[T](j.r, 1)
	start := float64(j.op) // 0 or 1
	f := &floatScan[T]{scanJob: j, loops: scansOf[T](l), start: start, sum: j.op == kernels.CumulativeSum}
	f.past = int64(len(dst))*int64(unsafe.Sizeof(T(0))) >= pastCaches && !j.nulls
	count := int((j.rows + scanRows - 1) / scanRows)
	f.states = newChain(count, start)
	others := workers()
	return tasks(j.ctx, count, func(_, i int) error {
		from, to := i*scanRows, min((i+1)*scanRows, len(v))
		ahead := v[min(from+others*scanRows, len(v)):] // what this worker probably takes next
		return f.part(i, dst[from:to], v[from:to], ahead)
	})
}

// floatScan is one call of scanFloats.
type floatScan[T float] struct {
	*scanJob
	loops  *scanLoops[T]
	states *chain[float64]
	start  float64
	sum    bool
	past   bool // results are stored past the caches
}

// part scans part i of the rows, from v to dst, and asks for memory from ahead on.
func (f *floatScan[T]) part(i int, dst, v, ahead []T) error {
	linked := false
	defer f.states.guard(&linked)
	if f.nulls {
		withoutNulls(f.scanJob, dst, v, int64(i)*scanRows, T(f.start))
		v = dst
	}
	var totals, before [scanBlocks]float64
	n := (len(v) + kernels.ScanBlock - 1) / kernels.ScanBlock
	whole := len(v) / kernels.ScanBlock
	if f.sum {
		f.loops.totals(totals[:whole], v, ahead)
	} else {
		whole &^= 3
		productTotals(totals[:whole], v)
	}
	for k := whole; k < n; k++ {
		totals[k] = totalFloats(v[k*kernels.ScanBlock:min((k+1)*kernels.ScanBlock, len(v))], f.start, f.sum)
	}
	_, err := f.states.link(f.ctx, i, func(state float64) float64 {
		for k, total := range totals[:n] {
			before[k] = state
			if f.sum {
				state += total
			} else {
				state *= total
			}
		}
		return state
	})
	if linked = err == nil; !linked {
		return err
	}
	switch {
	case !f.sum || f.o.Exclusive:
		whole = 0
	case f.past:
		f.loops.alongPast(dst, v, before[:whole], ahead[min(len(v)/2, len(ahead)):])
	default:
		f.loops.along(dst, v, before[:whole])
	}
	for k := whole; k < n; k++ {
		a, b := k*kernels.ScanBlock, min((k+1)*kernels.ScanBlock, len(v))
		runFloats(dst[a:b], v[a:b], before[k], f.sum, f.o.Exclusive)
	}
	return nil
}

// productTotals is what whole blocks come to, a multiple of four of them, side by
// side as sumTotals has them.
func productTotals[T float](totals []float64, v []T) {
	for k := 0; k < len(totals); k += 4 {
		a, b, c, d := fourBlocks(v[k*kernels.ScanBlock:])
		t0, t1, t2, t3 := 1.0, 1.0, 1.0, 1.0
		for i := range a {
			t0 *= float64(a[i])
			t1 *= float64(b[i])
			t2 *= float64(c[i])
			t3 *= float64(d[i])
		}
		totals[k], totals[k+1], totals[k+2], totals[k+3] = t0, t1, t2, t3
	}
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

// runFloats scans a block to dst, which may be the same; total is that of the
// blocks before.
func runFloats[T float](dst, v []T, total float64, sum, exclusive bool) {
	dst = dst[:len(v)]
	switch {
	case sum && exclusive:
		state := 0.0
		for i, x := range v {
			dst[i] = T(total + state)
			state += float64(x)
		}
	case sum:
		state := 0.0
		for i, x := range v {
			state += float64(x)
			dst[i] = T(total + state)
		}
	case exclusive:
		state := 1.0
		for i, x := range v {
			dst[i] = T(total * state)
			state *= float64(x)
		}
	default:
		state := 1.0
		for i, x := range v {
			state *= float64(x)
			dst[i] = T(total * state)
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
