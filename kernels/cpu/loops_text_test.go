package cpu

import (
	"math/rand/v2"
	"testing"
)

// randomTexts are n texts one after another, with some bytes before them and
// up to most in each.
func randomTexts[T int32 | int64](r *rand.Rand, n, most int) (offsets []T, bytes []byte) {
	offsets = make([]T, n+1)
	offsets[0] = T(r.IntN(5))
	for j := range n {
		offsets[j+1] = offsets[j] + T(r.IntN(most+1))
	}
	return offsets, randomBytes(r, int(offsets[n]))
}

func testTexts[T int32 | int64](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := textWordsOf[T](goes), textWordsOf[T](tier)
			for n := range maxLoop + 1 {
				mem.again()
				o, b := randomTexts[T](r, n, shortText)
				offsets, bytes := like(mem, o), like(mem, b)
				words, hashes := room[[2]uint64](mem, n), room[uint64](mem, n)
				expect, mixed := make([][2]uint64, n), make([]uint64, n)
				if !want(expect, mixed, o, b, noSlots) || !got(words, hashes, offsets, bytes, noSlots) {
					t.Fatalf("texts of up to %d bytes are called long", shortText)
				}
				same(t, "words of texts", n, words, expect)
				same(t, "hashes of texts", n, hashes, mixed)
				mem.intact("words of texts", 16*n, 2)
				mem.intact("hashes of texts", 8*n, 3)
				for j := range expect {
					p := b[o[j]:o[j+1]]
					low, high := lastText(p)
					if expect[j] != [2]uint64{low, high} || mixed[j] != mixText(low, high) {
						t.Fatalf("%q is %x", p, expect[j])
					}
				}
				if n == 0 {
					continue
				}
				long := r.IntN(n) // one that is made longer by 16 bytes
				for j := long + 1; j <= n; j++ {
					o[j] += 16
				}
				b = append(b, make([]byte, 16)...)
				if want(expect, mixed, o, b, noSlots) || got(expect, mixed, o, b, noSlots) {
					t.Fatalf("%d texts, a long one is not seen", n)
				}
			}
		})
	})
}

func TestTextLoops(t *testing.T) {
	testTexts[int32](t, "int32")
	testTexts[int64](t, "int64")
}

func BenchmarkTextWords(b *testing.B) {
	const n = tallyStep
	offsets, bytes := randomTexts[int32](rand.New(rand.NewPCG(1, 2)), n, shortText)
	words, hashes := make([][2]uint64, n), make([]uint64, n)
	benchmarkTiers(b, len(bytes)+4*n+24*n, func(l *loops) { l.text.o32(words, hashes, offsets, bytes, noSlots) })
}
