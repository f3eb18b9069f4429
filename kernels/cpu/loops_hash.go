package cpu

import "math"

// hashLoops hash each value of v by XXH64 of 64 bits, with what h has as the
// seed, into h, which is no shorter than v. They are bound by five multiplications
// of 64 bits, each of which waits for the one before: on Zen 4 1024 values of
// int64 go through at 2.7 billion a second with AVX-512, 0.64 with AVX2, which
// has to make the products of those of 32 bits, and 0.46 in Go, so that only
// AVX-512 is bound by reading and writing (44 GB/s in cache) and no longer by
// multiplying when the values come from memory. Strings and decimals stay in Go:
// strings of different lengths take different ways through XXH64.
type hashLoops struct {
	i8  func(h []uint64, v []int8)
	i16 func(h []uint64, v []int16)
	i32 func(h []uint64, v []int32)
	i64 func(h []uint64, v []int64)
	u8  func(h []uint64, v []uint8)
	u16 func(h []uint64, v []uint16)
	u32 func(h []uint64, v []uint32)
	u64 func(h []uint64, v []uint64)
	f32 func(h []uint64, v []float32)
	f64 func(h []uint64, v []float64)
}

func goHashLoops() hashLoops {
	return hashLoops{
		i8: hashIntegers[int8], i16: hashIntegers[int16], i32: hashIntegers[int32], i64: hashIntegers[int64],
		u8: hashIntegers[uint8], u16: hashIntegers[uint16], u32: hashIntegers[uint32], u64: hashIntegers[uint64],
		f32: hashFloats[float32], f64: hashFloats[float64],
	}
}

func hashIntegers[T integer](h []uint64, v []T) {
	h = h[:len(v)]
	for i, x := range v {
		h[i] = hash64(uint64(x), h[i]) // the conversion extends the sign of signed types
	}
}

// hashFloats takes zeros of both signs for one, and all NaN.
func hashFloats[T float](h []uint64, v []T) {
	h = h[:len(v)]
	for i, x := range v {
		b := math.Float64bits(float64(x))
		if x == 0 {
			b = 0
		} else if x != x {
			b = 0x7ff8000000000000
		}
		h[i] = hash64(b, h[i])
	}
}
