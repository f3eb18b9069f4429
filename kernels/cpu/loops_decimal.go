package cpu

// decimalLoops go between decimals of 128 bits and integers of 64. Nearly all
// decimals that are stored fit these: kernels compute a block of them as integers
// where its magnitude proves every step, and in 128 bits where not.
type decimalLoops struct {
	// narrow gives the low words of decimals. wide is 0 where all of them fit 64
	// bits, as two's complement. Then each is below 1<<bits.Len64(magnitude), and
	// not below the negative of that.
	narrow func(dst []int64, src [][2]uint64) (magnitude, wide uint64)
	// widen makes decimals of integers.
	widen func(dst [][2]uint64, src []int64)
}

func goDecimalLoops() decimalLoops { return decimalLoops{narrow: narrowDecimals, widen: widenDecimals} }

func narrowDecimals(dst []int64, src [][2]uint64) (magnitude, wide uint64) {
	dst = dst[:len(src)]
	for i := range src {
		v := &src[i]
		sign := uint64(int64(v[0]) >> 63)
		dst[i] = int64(v[0])
		magnitude |= v[0] ^ sign
		wide |= v[1] ^ sign
	}
	return magnitude, wide
}

func widenDecimals(dst [][2]uint64, src []int64) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = [2]uint64{uint64(v), uint64(v >> 63)}
	}
}
