package cpu

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// hashColumns is the CPU's HashFunc: one pass over the hashes for each column, a
// morsel at a time, so that they stay in cache.
func (l *loops) hashColumns(ctx context.Context, s device.Stream, keys []*memory.Column, seed uint64) (*memory.Column, error) {
	n := keys[0].Len()
	o := newOut(s, arrow.PrimitiveTypes.Uint64, n)
	if err := o.values(); err != nil {
		return o.column(err)
	}
	dst := view[uint64](o, 1)
	columns := make([]func(h []uint64, from int64), len(keys))
	for i, k := range keys {
		columns[i] = hasher(l, k)
	}
	return o.column(parallel(ctx, n, func(_ int, s span) error {
		blocks(s, func(from, to int64) {
			h := dst[from:to]
			for i := range h {
				h[i] = seed
			}
			for _, column := range columns {
				column(h, from)
			}
		})
		return nil
	}))
}

// hasher hashes rows from a row on, each with the hash so far as its seed.
func hasher(l *loops, c *memory.Column) func(h []uint64, from int64) {
	switch c.Type().ID() {
	case arrow.NULL:
		return func(h []uint64, _ int64) {
			for i, seed := range h {
				h[i] = hashNull(seed)
			}
		}
	case arrow.DICTIONARY:
		return hashDictionary(l, c)
	}
	loop := valueHasher(l, c)
	if c.Validity() == nil {
		return loop
	}
	return func(h []uint64, from int64) {
		var seeds [rowBlock]uint64
		copy(seeds[:], h)
		loop(h, from)
		for i := int64(0); i < int64(len(h)); i += 64 {
			n := min(64, int64(len(h))-i)
			null := ^validWord(c, from+i, n) & (^uint64(0) >> (64 - uint(n)))
			for ; null != 0; null &= null - 1 {
				k := i + int64(bits.TrailingZeros64(null))
				h[k] = hashNull(seeds[k])
			}
		}
	}
}

// valueHasher hashes as if nothing were null.
func valueHasher(l *loops, c *memory.Column) func(h []uint64, from int64) {
	switch storageID(c.Type()) {
	case arrow.BOOL:
		return func(h []uint64, from int64) {
			for i, seed := range h {
				h[i] = hash64(uint64(bit(c.Bits().Get(c.Offset()+from+int64(i)))), seed)
			}
		}
	case arrow.INT8:
		return hashNumbers(c, l.hash.i8)
	case arrow.INT16:
		return hashNumbers(c, l.hash.i16)
	case arrow.INT32:
		return hashNumbers(c, l.hash.i32)
	case arrow.INT64:
		return hashNumbers(c, l.hash.i64)
	case arrow.UINT8:
		return hashNumbers(c, l.hash.u8)
	case arrow.UINT16:
		return hashNumbers(c, l.hash.u16)
	case arrow.UINT32:
		return hashNumbers(c, l.hash.u32)
	case arrow.UINT64:
		return hashNumbers(c, l.hash.u64)
	case arrow.FLOAT32:
		return hashNumbers(c, l.hash.f32)
	case arrow.FLOAT64:
		return hashNumbers(c, l.hash.f64)
	case arrow.DECIMAL128:
		values := memory.Values[decimal](c)
		return func(h []uint64, from int64) {
			run := values[from : from+int64(len(h))]
			for i, v := range run {
				h[i] = hash128(v, h[i])
			}
		}
	case arrow.STRING, arrow.BINARY:
		return hashTexts[int32](c)
	default:
		return hashTexts[int64](c)
	}
}

func hashNumbers[T number](c *memory.Column, loop func(h []uint64, v []T)) func(h []uint64, from int64) {
	values := memory.Values[T](c)
	return func(h []uint64, from int64) { loop(h, values[from:from+int64(len(h))]) }
}

func hashTexts[T int32 | int64](c *memory.Column) func(h []uint64, from int64) {
	values := textsOf[T](c)
	return func(h []uint64, from int64) {
		for i, seed := range h {
			h[i] = hashBytes(values.at(from+int64(i)), seed)
		}
	}
}

// hashDictionary hashes each row's value.
func hashDictionary(l *loops, c *memory.Column) func(h []uint64, from int64) {
	d := c.Dictionary()
	var value func(h []uint64, from int64)
	if d.Type().ID() != arrow.NULL {
		value = valueHasher(l, d) // nulls are seen to here
	}
	return func(h []uint64, from int64) {
		var at [rowBlock]int64
		indices(at[:len(h)], c, from)
		for i, seed := range h {
			if isNull(c, from+int64(i)) {
				h[i] = hashNull(seed)
				continue
			}
			value(h[i:i+1], at[i])
		}
	}
}

// The primes of XXH64.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

func avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func round(acc, lane uint64) uint64 {
	return bits.RotateLeft64(acc+lane*prime2, 31) * prime1
}

// hash64 is XXH64 of the eight bytes of v.
func hash64(v, seed uint64) uint64 {
	h := seed + prime5 + 8
	h = bits.RotateLeft64(h^round(0, v), 27)*prime1 + prime4
	return avalanche(h)
}

// hash128 is XXH64 of the sixteen bytes of v.
func hash128(v decimal, seed uint64) uint64 {
	h := seed + prime5 + 16
	h = bits.RotateLeft64(h^round(0, v.lo), 27)*prime1 + prime4
	h = bits.RotateLeft64(h^round(0, v.hi), 27)*prime1 + prime4
	return avalanche(h)
}

// hashNull is XXH64 of the byte 0xff, which stands for a null.
func hashNull(seed uint64) uint64 {
	h := seed + prime5 + 1
	mark := uint64(0xff)
	return avalanche(bits.RotateLeft64(h^mark*prime5, 11) * prime1)
}

// hashBytes is XXH64.
func hashBytes(b []byte, seed uint64) uint64 {
	length := uint64(len(b))
	h := seed + prime5
	if len(b) >= 32 {
		p1 := uint64(prime1)
		a1, a2, a3, a4 := seed+p1+prime2, seed+prime2, seed, seed-p1
		for len(b) >= 32 {
			a1 = round(a1, binary.LittleEndian.Uint64(b))
			a2 = round(a2, binary.LittleEndian.Uint64(b[8:]))
			a3 = round(a3, binary.LittleEndian.Uint64(b[16:]))
			a4 = round(a4, binary.LittleEndian.Uint64(b[24:]))
			b = b[32:]
		}
		h = bits.RotateLeft64(a1, 1) + bits.RotateLeft64(a2, 7) + bits.RotateLeft64(a3, 12) + bits.RotateLeft64(a4, 18)
		for _, a := range [...]uint64{a1, a2, a3, a4} {
			h = (h^round(0, a))*prime1 + prime4
		}
	}
	h += length
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^round(0, binary.LittleEndian.Uint64(b)), 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*prime1, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	return avalanche(h)
}
