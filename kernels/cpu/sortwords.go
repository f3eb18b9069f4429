package cpu

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// row is a row number as sort carries it: uint32 while rows are fewer than 2^32.
type row interface{ uint32 | uint64 }

// nanWord is the word of every NaN; no value of a float type has it.
const nanWord = math.MaxUint64

// words gives values of a column as unsigned words in the order of the values.
// What it gives for a null is undefined.
type words[R row] struct {
	load   func(dst []uint64, from int64) // of rows [from, from+len(dst))
	gather func(dst []uint64, rows []R)   // of these rows
}

// fixedWords are the words of a column of numbers, dates or times, or of bools.
func fixedWords[R row](c *memory.Column) words[R] {
	switch c.Type().ID() {
	case arrow.BOOL:
		return boolWords[R](c)
	case arrow.INT8:
		return signedWords[int8, R](c)
	case arrow.INT16:
		return signedWords[int16, R](c)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return signedWords[int32, R](c)
	case arrow.UINT8:
		return unsignedWords[uint8, R](c)
	case arrow.UINT16:
		return unsignedWords[uint16, R](c)
	case arrow.UINT32:
		return unsignedWords[uint32, R](c)
	case arrow.UINT64:
		return unsignedWords[uint64, R](c)
	case arrow.FLOAT32:
		return float32Words[R](c)
	case arrow.FLOAT64:
		return float64Words[R](c)
	default:
		return signedWords[int64, R](c)
	}
}

func signedWords[T int8 | int16 | int32 | int64, R row](c *memory.Column) words[R] {
	v := memory.Values[T](c)
	return words[R]{
		func(dst []uint64, from int64) {
			for i, x := range v[from : from+int64(len(dst))] {
				dst[i] = uint64(int64(x)) ^ 1<<63
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = uint64(int64(v[r])) ^ 1<<63
			}
		},
	}
}

func unsignedWords[T uint8 | uint16 | uint32 | uint64, R row](c *memory.Column) words[R] {
	v := memory.Values[T](c)
	return words[R]{
		func(dst []uint64, from int64) {
			for i, x := range v[from : from+int64(len(dst))] {
				dst[i] = uint64(x)
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = uint64(v[r])
			}
		},
	}
}

// word64 turns a float round so that words order as the values do: negative
// ones have all bits flipped, others the sign. Adding 0 makes -0 into 0.
func word64(x float64) uint64 {
	b := math.Float64bits(x + 0)
	b ^= uint64(int64(b)>>63) | 1<<63
	if x != x {
		return nanWord
	}
	return b
}

func word32(x float32) uint64 {
	b := math.Float32bits(x + 0)
	b ^= uint32(int32(b)>>31) | 1<<31
	if x != x {
		return nanWord
	}
	return uint64(b)
}

func float64Words[R row](c *memory.Column) words[R] {
	v := memory.Values[float64](c)
	return words[R]{
		func(dst []uint64, from int64) {
			for i, x := range v[from : from+int64(len(dst))] {
				dst[i] = word64(x)
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = word64(v[r])
			}
		},
	}
}

func float32Words[R row](c *memory.Column) words[R] {
	v := memory.Values[float32](c)
	return words[R]{
		func(dst []uint64, from int64) {
			for i, x := range v[from : from+int64(len(dst))] {
				dst[i] = word32(x)
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = word32(v[r])
			}
		},
	}
}

func boolWords[R row](c *memory.Column) words[R] {
	v, offset := c.Bits(), c.Offset()
	at := func(i int64) uint64 {
		i += offset
		return uint64(v[i>>3]>>(uint(i)&7)) & 1
	}
	return words[R]{
		func(dst []uint64, from int64) {
			for i := range dst {
				dst[i] = at(from + int64(i))
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = at(int64(r))
			}
		},
	}
}

// decimalWords are the high halves of a column of decimals, signed, or the low
// halves.
func decimalWords[R row](c *memory.Column, high bool) words[R] {
	v := memory.Values[[2]uint64](c)
	half, flip := 0, uint64(0)
	if high {
		half, flip = 1, 1<<63
	}
	return words[R]{
		func(dst []uint64, from int64) {
			for i := range dst {
				dst[i] = v[from+int64(i)][half] ^ flip
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = v[r][half] ^ flip
			}
		},
	}
}

// rankWords are the ranks of what the indices of a dictionary column stand for.
// Under a null an index may be anything.
func rankWords[R row](c *memory.Column, ranks []uint64) words[R] {
	at := func(i int64) uint64 {
		if k := c.Index(i); uint64(k) < uint64(len(ranks)) {
			return ranks[k]
		}
		return 0
	}
	return words[R]{
		func(dst []uint64, from int64) {
			for i := range dst {
				dst[i] = at(from + int64(i))
			}
		},
		func(dst []uint64, rows []R) {
			for i, r := range rows {
				dst[i] = at(int64(r))
			}
		},
	}
}
