package cpu

import (
	"math/bits"

	"github.com/volley-go/volley/memory"
)

// filterLoops keep the values of src that mask has a bit for: dst is as long as
// these are many. They read and write as quickly as memory does.
type filterLoops struct {
	keepers
	past keepers // the same, past the caches
	// compressWords moves the bits of each v[i] that are set in mask[i] to the low
	// end; those above become 0.
	compressWords func(v, mask []uint64)
}

// keepers are a loop for each width.
type keepers struct {
	u8  func(dst, src []uint8, mask []byte)
	u16 func(dst, src []uint16, mask []byte)
	u32 func(dst, src []uint32, mask []byte)
	u64 func(dst, src []uint64, mask []byte)
	// u128 is that of values of 16 bytes, decimals for one.
	u128 func(dst, src [][2]uint64, mask []byte)
}

func goFilterLoops() filterLoops {
	k := keepers{keepValues[uint8], keepValues[uint16], keepValues[uint32], keepValues[uint64], keepValues[[2]uint64]}
	return filterLoops{keepers: k, past: k, compressWords: compressWords}
}

// keeperOf is the loop for values of a type.
func keeperOf[T any](k *keepers) func(dst, src []T, mask []byte) {
	var keep func(dst, src []T, mask []byte)
	switch p := any(&keep).(type) {
	case *func(dst, src []uint8, mask []byte):
		*p = k.u8
	case *func(dst, src []uint16, mask []byte):
		*p = k.u16
	case *func(dst, src []uint32, mask []byte):
		*p = k.u32
	case *func(dst, src []uint64, mask []byte):
		*p = k.u64
	case *func(dst, src [][2]uint64, mask []byte):
		*p = k.u128
	default:
		return keepValues[T]
	}
	return keep
}

func keepValues[T any](dst, src []T, mask []byte) {
	for i := 0; i < len(src); i += 64 {
		n := min(64, len(src)-i)
		dst = dst[keep(dst, src[i:i+n], memory.Bitmap(mask).Word(int64(i), int64(n))):]
	}
}

// keep copies the up to 64 values of src whose bit is set in w and gives their
// number.
func keep[T any](dst, src []T, w uint64) int {
	n := bits.OnesCount64(w)
	if n == len(src) {
		return copy(dst, src)
	}
	if len(src) < 64 || n == 0 {
		for k := range n {
			dst[k] = src[bits.TrailingZeros64(w)]
			w &= w - 1
		}
		return n
	}
	from, to := (*[64]T)(src), dst[:n]
	for k := range to {
		to[k] = from[bits.TrailingZeros64(w)&63]
		w &= w - 1
	}
	return n
}

func compressWords(v, mask []uint64) {
	for i := range v {
		v[i] = compress(v[i], mask[i])
	}
}
