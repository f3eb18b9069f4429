package cpu

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/memory"
)

// Each encoder ors the code of every row of a batch, shifted to the column's
// bits, into dst, and marks rows to be skipped.

// codeOf settles null and out of range for one row.
func (k *keyColumn) codeOf(b *batch, j int, valid memory.Bitmap, row uint32, code uint64) (uint64, bool) {
	if valid != nil && !valid.Get(k.c.Offset()+int64(row)) {
		if k.drop {
			b.skip[j] = true
			return 0, true
		}
		return k.null, false
	}
	if k.probing && code > k.span {
		b.skip[j] = true
		return 0, true
	}
	return code, false
}

// careful encodes rows of a column that has nulls, or that is probed with.
func (k *keyColumn) careful(b *batch, dst []uint64, code func(row uint32) uint64) (skips bool) {
	valid := k.c.Validity()
	for j := range dst {
		row := b.row(j)
		c, skip := k.codeOf(b, j, valid, row, code(row))
		skips = skips || skip
		dst[j] |= c << k.shift
	}
	return skips
}

func encodeNull(k *keyColumn, b *batch, dst []uint64) bool {
	for j := range dst {
		if k.drop {
			b.skip[j] = true
		} else {
			dst[j] |= k.null << k.shift
		}
	}
	return k.drop
}

func encodeBits(k *keyColumn, b *batch, dst []uint64) bool {
	m, off := k.c.Bits(), k.c.Offset()
	return k.careful(b, dst, func(row uint32) uint64 {
		i := off + int64(row)
		return uint64(m[i>>3] >> (uint(i) & 7) & 1)
	})
}

func encodeInts[T integer](k *keyColumn, b *batch, dst []uint64) (skips bool) {
	values, base, shift := memory.Values[T](k.c), k.base, k.shift&63
	switch {
	case k.nullable && k.c.Validity() != nil && !k.probing && !k.drop:
		encodeNullable(k, b, dst, values)
		return false
	case k.nullable && k.c.Validity() != nil:
		return k.careful(b, dst, func(row uint32) uint64 { return uint64(values[row]) - base })
	case b.rows != nil:
		rows := b.rows[:len(dst)]
		for j := range dst {
			dst[j] |= (uint64(values[rows[j]]) - base) << (shift & 63)
		}
	default:
		values = values[b.from:]
		values = values[:len(dst)]
		for j := range dst {
			dst[j] |= (uint64(values[j]) - base) << (shift & 63)
		}
	}
	if k.probing {
		return skipBeyond(k, b, dst, values)
	}
	return false
}

// skipBeyond marks the rows whose values are out of the range that the other
// side has.
func skipBeyond[T integer](k *keyColumn, b *batch, dst []uint64, values []T) (skips bool) {
	for j := range dst {
		v := uint64(0)
		if b.rows != nil {
			v = uint64(values[b.rows[j]])
		} else {
			v = uint64(values[j])
		}
		if v-k.base > k.span {
			b.skip[j], skips, dst[j] = true, true, 0
		}
	}
	return skips
}

// encodeNullable encodes integers of which some are null, without branches.
func encodeNullable[T integer](k *keyColumn, b *batch, dst []uint64, values []T) {
	valid, off, base, null, shift := k.c.Validity(), k.c.Offset(), k.base, k.null, k.shift
	if b.rows != nil {
		for j, row := range b.rows[:len(dst)] {
			i := uint64(off) + uint64(row)
			keep := -uint64(valid[i>>3] >> (i & 7) & 1)
			dst[j] |= ((uint64(values[row])-base)&keep | null&^keep) << (shift & 63)
		}
		return
	}
	values = values[b.from:]
	for at := 0; at < len(dst); at += 64 {
		n := min(64, len(dst)-at)
		word := validWord(k.c, int64(b.from)+int64(at), int64(n))
		to := dst[at : at+n]
		for j, v := range values[at : at+n] {
			keep := -(word & 1)
			to[j] |= ((uint64(v)-base)&keep | null&^keep) << (shift & 63)
			word >>= 1
		}
	}
}

// planInts finds the range of a column of integers.
func planInts[T integer](ctx context.Context, k *keyColumn) error {
	if k.c.Validity() == nil && !k.nullable && farApart(memory.Values[T](k.c)) {
		k.base, k.span, k.encode = 0, ^uint64(0), encodeInts[T]
		k.withNull()
		return nil
	}
	low, high, rising, err := trendOf[T](ctx, k.c)
	if err != nil {
		return err
	}
	k.rising = rising
	k.encode = encodeInts[T]
	if low <= high {
		k.base, k.span = uint64(low), uint64(high)-uint64(low)
	}
	k.withNull()
	return nil
}

// farApart says that values are known to take all 64 bits, from a few of them: the
// range of all, which a pass over them would find, then decides nothing.
func farApart[T integer](values []T) bool {
	n := int64(len(values))
	if n == 0 || unsafe.Sizeof(values[0]) < 8 {
		return false
	}
	low, high := values[0], values[n-1]
	few := min(n, 64)
	for i := range few {
		v := values[i*n/few]
		low, high = min(low, v), max(high, v)
	}
	return low <= high && uint64(high)-uint64(low) >= 1<<63
}

// trendOf is the least and the greatest value, the first above the second when there is
// none, and whether no value is null or below the one before it.
func trendOf[T integer](ctx context.Context, c *memory.Column) (low, high T, rising bool, err error) {
	values, valid := memory.Values[T](c), c.Validity()
	lows, highs := make([]T, morsels(c.Len())), make([]T, morsels(c.Len()))
	any := make([]bool, len(lows))
	var falls atomic.Bool
	err = parallel(ctx, c.Len(), func(_ int, s span) error {
		i := s.index
		if valid == nil && !falls.Load() {
			part := values[max(s.from, 1)-1 : s.to] // with the value before
			if rises(part) {
				lows[i], highs[i], any[i] = values[s.from], values[s.to-1], true
				return nil
			}
			falls.Store(true)
		}
		if valid == nil {
			lows[i], highs[i] = rangeOfAll(values[s.from:s.to])
			any[i] = true
			return nil
		}
		lows[i], highs[i], any[i] = rangeOfValid(c, values, s)
		return nil
	})
	low, high = 1, 0
	for i := range lows {
		switch {
		case !any[i]:
		case low > high:
			low, high = lows[i], highs[i]
		default:
			low, high = min(low, lows[i]), max(high, highs[i])
		}
	}
	return low, high, valid == nil && !falls.Load(), err
}

// rises says that no value is below the one before it.
func rises[T integer](values []T) bool {
	for len(values) > 8 {
		v := (*[9]T)(values)
		if v[1] < v[0] || v[2] < v[1] || v[3] < v[2] || v[4] < v[3] || v[5] < v[4] || v[6] < v[5] || v[7] < v[6] || v[8] < v[7] {
			return false
		}
		values = values[8:]
	}
	for i := 1; i < len(values); i++ {
		if values[i] < values[i-1] {
			return false
		}
	}
	return true
}

// rangeOfValid is the range of the rows of a span that are not null, if there is one. A null counts
// as a value that is in the range already, so that there is no branch for a row.
func rangeOfValid[T integer](c *memory.Column, values []T, s span) (low, high T, any bool) {
	for at := s.from; at < s.to; at += 64 {
		n := min(64, s.to-at)
		word := validWord(c, at, n)
		if word == 0 {
			continue
		}
		part := values[at : at+n]
		if !any {
			low, any = part[bits.TrailingZeros64(word)], true
			high = low
		}
		in := low
		for _, v := range part {
			v = in ^ (in^v)&-T(word&1)
			low, high = min(low, v), max(high, v)
			word >>= 1
		}
	}
	return low, high, any
}

// rangeOfAll is the range of one value or more, in two chains of comparisons.
func rangeOfAll[T integer](values []T) (low, high T) {
	low, high = values[0], values[0]
	low2, high2 := low, high
	for ; len(values) >= 2; values = values[2:] {
		v, w := values[0], values[1]
		low, high = min(low, v), max(high, v)
		low2, high2 = min(low2, w), max(high2, w)
	}
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return min(low, low2), max(high, high2)
}

func encodeFloats[T float32 | float64](k *keyColumn, b *batch, dst []uint64) bool {
	values := memory.Values[T](k.c)
	if valid := k.c.Validity(); valid != nil {
		return k.careful(b, dst, func(row uint32) uint64 { return floatCode(values[row]) })
	}
	if b.rows == nil {
		values = values[b.from:]
		for j, v := range values[:len(dst)] {
			dst[j] |= floatCode(v) << k.shift
		}
		return false
	}
	for j, row := range b.rows[:len(dst)] {
		dst[j] |= floatCode(values[row]) << k.shift
	}
	return false
}

// floatCode is the bits of a float, the same for all NaNs and for both zeros.
func floatCode[T float32 | float64](v T) uint64 {
	if v != v {
		v = T(math.NaN())
	}
	v += 0 // makes -0 0
	if f, single := any(v).(float32); single {
		return uint64(math.Float32bits(f))
	}
	return math.Float64bits(float64(v))
}

func encodeDecimals(k *keyColumn, b *batch, dst []uint64) bool {
	values := memory.Values[[2]uint64](k.c)
	return k.careful(b, dst, func(row uint32) uint64 { return fold128(values[row][0]^mixA, values[row][1]^mixC) & slots.Kept })
}

func encodeStrings[T int32 | int64](k *keyColumn, b *batch, dst []uint64) bool {
	offsets, bytes := memory.Offsets[T](k.c), bytesOf(k.c)
	valid := k.c.Validity()
	if valid == nil { // hashes have no range to be out of
		for j := range dst {
			row := b.row(j)
			dst[j] = hashText(bytes[offsets[row]:offsets[row+1]])
		}
		return false
	}
	return encodeNullStrings(k, b, dst, offsets, bytes)
}

// encodeNullStrings hashes strings of which some are null, without a branch for
// them: of a null, whose bytes are nobody's, the text before is hashed once more, and not used.
func encodeNullStrings[T int32 | int64](k *keyColumn, b *batch, dst []uint64, offsets []T, bytes []byte) (skips bool) {
	valid, off, null := k.c.Validity(), uint64(k.c.Offset()), k.null
	if k.drop {
		null = 0
	}
	begin, end := T(0), T(0)
	for j := range dst {
		row := b.row(j)
		i := off + uint64(row)
		keep := -uint64(valid[i>>3] >> (i & 7) & 1)
		begin = begin&^T(keep) | offsets[row]&T(keep)
		end = end&^T(keep) | offsets[row+1]&T(keep)
		dst[j] |= hashText(bytes[begin:end])&keep | null&^keep
		if k.drop {
			b.skip[j] = b.skip[j] || keep == 0
			skips = skips || keep == 0
		}
	}
	return skips
}

// bytesOf is the text of a string column, where there is any.
func bytesOf(c *memory.Column) []byte {
	if b := c.Buffer(2); b != nil {
		return b.Bytes()
	}
	return nil
}
