//go:build amd64 && !purego

package cpu

// textMasks are ones for the bytes of a text and zeros for those after it, when
// read from its length before the middle on.
var textMasks = [32]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}

func (l *textLoops) avx2() {
	l.o32, l.o64 = wholeTexts(textWords32AVX2, l.o32), wholeTexts(textWords64AVX2, l.o64)
}

// wholeTexts has assembly take the texts that have 16 bytes from their begin on,
// and the loop of the tier below the last few of a column.
func wholeTexts[T int32 | int64](most func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, masks *[32]byte, slots *byte, shift uint64) uint64,
	rest func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool) func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool {
	return func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool {
		k := len(words)
		for k > 0 && uint64(offsets[k-1])+16 > uint64(len(bytes)) {
			k--
		}
		long := most(words[:k], hashes[:k], offsets[:k+1], bytes, &textMasks, near.slots, near.shift)
		return rest(words[k:], hashes[k:], offsets[k:], bytes, near) && long>>63 == 0
	}
}

func (l *textLoops) avx512() { l.o32, l.o64 = allTexts(textWords32AVX512), allTexts(textWords64AVX512) }

// allTexts has assembly take all texts, of which it reads no byte too much.
func allTexts[T int32 | int64](all func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, masks *[32]byte, slots *byte, shift uint64) uint64) func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool {
	return func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool {
		return all(words, hashes, offsets, bytes, &textMasks, near.slots, near.shift)>>63 == 0
	}
}
