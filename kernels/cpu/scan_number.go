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
// cache holds those that are written and those that are read meanwhile.
const scanBytes = 1 << 18

// scanIntegers is the sum or product of integers, wrapping, in one pass: it is
// limited by reading the column and writing the result once. Signed ones have the
// same bits.
func scanIntegers(l *loops, j *scanJob, width int) error {
	switch width {
	case 1:
		return scanWrapped(j, goRunsBy(func(v []uint8) uint8 { return uint8(l.reduce.u8.sum(v)) }))
	case 2:
		return scanWrapped(j, goRunsBy(func(v []uint16) uint16 { return uint16(l.reduce.u16.sum(v)) }))
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
	along := loops.along
	if len(dst)*int(unsafe.Sizeof(identity)) >= pastCaches && !j.nulls {
		along = loops.alongPast
	}
	part := func(v []T, i int) []T { return v[i*rows : min((i+1)*rows, len(v))] }
	total := func(i int) T {
		from := part(v, i)
		if j.nulls {
			withoutNulls(j, part(dst, i), from, int64(i*rows), identity)
			from = part(dst, i)
		}
		if sum {
			return loops.total(from)
		}
		return multiplyAll(from, identity)
	}
	behind := func(_ int, before, total T) T {
		if sum {
			return before + total
		}
		return before * total
	}
	return chained(j.ctx, (len(v)+rows-1)/rows, identity, total, behind, func(i, next int, before, _ T) T {
		from, to := part(v, i), part(dst, i)
		if j.nulls {
			from = to
		}
		plain := sum && !j.o.Exclusive
		switch {
		case !plain:
			runIntegers(to, from, before, sum, j.o.Exclusive)
		case next >= 0 && !j.nulls:
			return along(to, from, before, part(v, next))
		default:
			along(to, from, before, nil)
		}
		if next < 0 {
			return identity
		}
		return total(next)
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
// scanRows the rows in them: scanBytes of float64, nearly.
const (
	scanBlocks = 8
	scanRows   = scanBlocks * kernels.ScanBlock
)

// scanFloats is the sum or product of floats in the shape of
// kernels.ScanFunc, in one pass as scanIntegers.
func scanFloats[T float](l *loops, j *scanJob) error {
	f := &floatScan[T]{
		scanJob: j, loops: scansOf[T](l), v: memory.Values[T](j.c)[:j.rows], dst: view[T](j.r, 1),
		start: float64(j.op), sum: j.op == kernels.CumulativeSum,
	}
	f.along = f.loops.along
	if int64(len(f.dst))*int64(unsafe.Sizeof(T(0))) >= pastCaches && !j.nulls {
		f.along = f.loops.alongPast
	}
	return chained(j.ctx, (len(f.v)+scanRows-1)/scanRows, f.start, f.totals, func(i int, before float64, t blockTotals) float64 {
		_, behind := f.states(i, before, t)
		return behind
	}, f.part)
}

// floatScan is one call of scanFloats.
type floatScan[T float] struct {
	*scanJob
	loops  *scanLoops[T]
	along  func(dst, v []T, before, totals []float64, next []T)
	v, dst []T
	start  float64 // 0 or 1
	sum    bool
}

// blockTotals are what the blocks of a part come to.
type blockTotals [scanBlocks]float64

// rowsOf are the rows of part i and the number of whole blocks and of all in them.
func (f *floatScan[T]) rowsOf(v []T, i int) (rows []T, whole, n int) {
	rows = v[i*scanRows : min((i+1)*scanRows, len(f.v))]
	return rows, len(rows) / kernels.ScanBlock, (len(rows) + kernels.ScanBlock - 1) / kernels.ScanBlock
}

// totals are those of part i.
func (f *floatScan[T]) totals(i int) (t blockTotals) {
	v, whole, _ := f.rowsOf(f.v, i)
	if f.nulls {
		dst, _, _ := f.rowsOf(f.dst, i)
		withoutNulls(f.scanJob, dst, v, int64(i)*scanRows, T(f.start))
		v = dst
	}
	if f.sum {
		f.loops.totals(t[:whole], v)
	} else {
		whole &^= 3
		productTotals(t[:whole], v)
	}
	f.rest(&t, v, whole)
	return t
}

// rest has the totals of blocks from a block of v on.
func (f *floatScan[T]) rest(t *blockTotals, v []T, block int) {
	for ; block*kernels.ScanBlock < len(v); block++ {
		t[block] = totalFloats(v[block*kernels.ScanBlock:min((block+1)*kernels.ScanBlock, len(v))], f.start, f.sum)
	}
}

// states are those before each block of part i, and that behind it.
func (f *floatScan[T]) states(i int, state float64, t blockTotals) (before blockTotals, behind float64) {
	_, _, n := f.rowsOf(f.v, i)
	for k, total := range t[:n] {
		before[k] = state
		if f.sum {
			state += total
		} else {
			state *= total
		}
	}
	return before, state
}

// part scans part i, and has the totals of part next, if there is one.
func (f *floatScan[T]) part(i, next int, state float64, t blockTotals) (totals blockTotals) {
	before, _ := f.states(i, state, t)
	dst, whole, n := f.rowsOf(f.dst, i)
	v := dst
	if !f.nulls {
		v, _, _ = f.rowsOf(f.v, i)
	}
	fused := f.sum && !f.o.Exclusive && !f.nulls && next >= 0 // both at once
	switch {
	case !f.sum || f.o.Exclusive:
		whole = 0
	case fused:
		from, blocks, _ := f.rowsOf(f.v, next)
		f.along(dst, v, before[:whole], totals[:blocks], from)
		f.rest(&totals, from, blocks)
	default:
		f.along(dst, v, before[:whole], nil, nil)
	}
	for k := whole; k < n; k++ {
		a, b := k*kernels.ScanBlock, min((k+1)*kernels.ScanBlock, len(v))
		runFloats(dst[a:b], v[a:b], before[k], f.sum, f.o.Exclusive)
	}
	if next >= 0 && !fused {
		return f.totals(next)
	}
	return totals
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
