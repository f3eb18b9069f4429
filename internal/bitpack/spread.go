package bitpack

import (
	"math/bits"
	"unsafe"
)

// Together is how many columns [Loops.Spread] takes, and SpreadRoom how many words of a
// mask it may look at behind those of its rows.
const (
	Together   = 16
	SpreadRoom = 8
)

// Spreads reports whether there is a loop of [Loops.Spread] that is faster than
// [Loops.Pick] and [Loops.Placed].
func (l *Loops) Spreads() bool { return l.spread != nil }

// Spread lays rows of columns that are marked into places: where bit i%64 of mask[i/64]
// is set, element i of column c, which begins at from[c], goes to
// to[places[i]*stride+c]. All rows have places, and those that are not marked may be
// written to theirs: a place apart. Of the columns, all of which are there, so many are
// written. The mask has SpreadRoom words more than rows need.
func (l *Loops) Spread(to []uint32, stride int, places []uint32, from *[Together]*uint32, mask []uint64, columns int) {
	done := 0
	if steps := len(places) / 16; l.spread != nil && steps > 0 {
		_ = mask[(steps-1)/4+SpreadRoom]
		l.spread(to, stride, places, from[:], unsafe.Slice((*uint16)(unsafe.Pointer(&mask[0])), 4*len(mask)), columns, steps)
		done = 16 * steps
	}
	for i := done; i < len(places); {
		word := mask[i/64] >> (i & 63)
		if word == 0 {
			i = i&^63 + 64
			continue
		}
		if i += bits.TrailingZeros64(word); i >= len(places) {
			return
		}
		row := to[int(places[i])*stride:][:columns]
		for c := range row {
			row[c] = *(*uint32)(unsafe.Add(unsafe.Pointer(from[c]), 4*i))
		}
		i++
	}
}
