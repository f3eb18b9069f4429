package bitpack

import (
	"math/bits"
	"unsafe"
)

// PickRoom is how many elements more than it keeps [Loops.Pick] should have room for:
// its loops store whole registers.
const PickRoom = 64

// Pick stores the words whose bits are set, one behind the other, and gives how many
// there are: bit i%64 of mask[i/64] is that of from[i], and bits behind those of from
// are not looked at. There must be room for all of them; anything may be written to
// the rest of it.
func (l *Loops) Pick(to, from []uint32, mask []uint64) (kept int) {
	done := 0
	if whole := len(from) &^ 63; l.pick != nil && whole > 0 {
		done, kept = l.pick(to, from[:whole], unsafe.Slice((*byte)(unsafe.Pointer(&mask[0])), whole/8))
	}
	return kept + pick(to[kept:], from[done:], mask[done/64:])
}

// pick is Pick in Go.
func pick(to, from []uint32, mask []uint64) (kept int) {
	for at := 0; at < len(from); at += 64 {
		word := mask[at/64]
		if n := len(from) - at; n < 64 {
			word &= 1<<n - 1
		}
		for ; word != 0; word &= word - 1 {
			to[kept] = from[at+bits.TrailingZeros64(word)]
			kept++
		}
	}
	return kept
}
