package cpu

import (
	"encoding/binary"

	"github.com/volley-go/volley/internal/slots"
)

// textLoops make two words of each of some short texts, and a hash of these: the
// first eight bytes; the rest, and in the last byte the length. offsets are one
// more than words. They say false where a text is longer than shortText, and its
// words are undefined then.
//
// In assembly they are about 25 instructions for a text, without a branch.
type textLoops struct {
	o32 func(words [][2]uint64, hashes []uint64, offsets []int32, bytes []byte, near nearTexts) bool
	o64 func(words [][2]uint64, hashes []uint64, offsets []int64, bytes []byte, near nearTexts) bool
}

// nearTexts is where texts are looked for next: slots of 32 bytes, by the hash
// shifted right. Assembly asks the processor to fetch them, so that a core waits for
// as many of them at once as its cache can; Go has no word for that.
type nearTexts struct {
	slots *byte
	shift uint64
}

// noSlots is of texts that no table is searched for; what is fetched is near already.
var noSlots = nearTexts{&new([64]byte)[0], 63}

func goTextLoops() textLoops { return textLoops{o32: textWords[int32], o64: textWords[int64]} }

// textWordsOf is the loop for a type of offsets.
func textWordsOf[T int32 | int64](l *loops) (f func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool) {
	switch f := any(&f).(type) {
	case *func(words [][2]uint64, hashes []uint64, offsets []int32, bytes []byte, near nearTexts) bool:
		*f = l.text.o32
	case *func(words [][2]uint64, hashes []uint64, offsets []int64, bytes []byte, near nearTexts) bool:
		*f = l.text.o64
	}
	if slots.Kept != slots.All {
		return keptTexts(f)
	}
	return f
}

// keptTexts are loops of which tests keep fewer bits of hashes.
func keptTexts[T int32 | int64](all func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool) func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool {
	return func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool {
		fit := all(words, hashes, offsets, bytes, near)
		for j := range words {
			hashes[j] &= slots.Kept
		}
		return fit
	}
}

func textWords[T int32 | int64](words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, _ nearTexts) bool {
	if len(words) == 0 {
		return true
	}
	offsets, hashes = offsets[:len(words)+1], hashes[:len(words)]
	begin, long := uint64(offsets[0]), uint64(0)
	for j, end := range offsets[1:] {
		end := uint64(end)
		size := end - begin
		w := &words[j]
		if begin+16 <= uint64(len(bytes)) {
			p := bytes[begin:]
			w[0] = binary.LittleEndian.Uint64(p) & (1<<(8*size) - 1)
			w[1] = binary.LittleEndian.Uint64(p[8:])&(1<<(8*max(size, 8)-64)-1) | size<<56
		} else {
			w[0], w[1] = lastText(bytes[begin:end])
		}
		hashes[j] = mixText(w[0], w[1])
		long |= (shortText - size) >> 63
		begin = end
	}
	return long == 0
}

// lastText is a text with no 16 bytes of others after its begin.
func lastText(p []byte) (low, high uint64) {
	var room [16]byte
	copy(room[:shortText], p)
	return binary.LittleEndian.Uint64(room[:]), binary.LittleEndian.Uint64(room[8:]) | uint64(len(p))<<56
}
