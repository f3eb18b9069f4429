package memory

import (
	"math/rand/v2"
	"testing"
)

const bitmapSeed = 42

// randomBits is a bitmap of exactly as many bytes as n bits take, and all of
// their bits, those past the n-th too, as bools.
func randomBits(r *rand.Rand, n int64) ([]bool, Bitmap) {
	bools, m := make([]bool, 8*BitmapBytes(n)), make(Bitmap, BitmapBytes(n))
	for i := range m {
		m[i] = byte(r.Uint32())
	}
	for i := range bools {
		bools[i] = m.Get(int64(i))
	}
	return bools, m
}

func same(t *testing.T, what string, m Bitmap, want []bool) {
	t.Helper()
	for i, v := range want {
		if m.Get(int64(i)) != v {
			t.Fatalf("seed %d: %s: bit %d is %v", bitmapSeed, what, i, !v)
		}
	}
}

// ranges calls f with every alignment of start and many lengths in n bits.
func ranges(n int64, f func(from, k int64)) {
	for from := int64(0); from <= 17; from++ {
		for _, k := range []int64{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 55, 56, 57, 58, 63, 64, 65, 71, 72, 73, 127, 128, 129, 200} {
			if from+k <= n {
				f(from, k)
			}
		}
		f(from, n-from)
	}
}

func TestBitmapGetSetClearPut(t *testing.T) {
	r := rand.New(rand.NewPCG(bitmapSeed, 1))
	bools, m := randomBits(r, 100)
	for range 1000 {
		i := r.Int64N(100)
		switch r.IntN(3) {
		case 0:
			m.Set(i)
			bools[i] = true
		case 1:
			m.Clear(i)
			bools[i] = false
		default:
			bools[i] = r.IntN(2) == 0
			m.Put(i, bools[i])
		}
	}
	same(t, "changed at random", m, bools)
}

func TestBitmapWordAndCount(t *testing.T) {
	r := rand.New(rand.NewPCG(bitmapSeed, 2))
	for _, n := range []int64{17, 64, 90, 128, 300} {
		bools, m := randomBits(r, n)
		ranges(n, func(from, k int64) {
			count, word := int64(0), uint64(0)
			for i := range k {
				if bools[from+i] {
					count++
					if i < 64 {
						word |= 1 << uint(i)
					}
				}
			}
			if got := m.Count(from, k); got != count {
				t.Fatalf("seed %d: %d of bits [%d, %d), not %d", bitmapSeed, got, from, from+k, count)
			}
			if k > 64 {
				return
			}
			// cut to the bytes that hold the bits: one read beyond them panics
			if got := m[:BitmapBytes(from+k)].Word(from, k); got != word {
				t.Fatalf("seed %d: word %x of bits [%d, %d), not %x", bitmapSeed, got, from, from+k, word)
			}
		})
	}
	if Bitmap(nil).Count(1000, 0) != 0 || Bitmap(nil).Word(1000, 0) != 0 {
		t.Fatal("bits of nothing")
	}
	Bitmap(nil).Fill(1000, 0, true)
}

func TestBitmapPutWord(t *testing.T) {
	r := rand.New(rand.NewPCG(bitmapSeed, 3))
	for _, n := range []int64{17, 64, 90, 300} {
		ranges(n, func(from, k int64) {
			if k > 64 {
				return
			}
			bools, m := randomBits(r, n)
			w := r.Uint64()
			for i := range k {
				bools[from+i] = w>>uint(i)&1 != 0
			}
			m.PutWord(from, k, w)
			same(t, "PutWord", m, bools)
		})
	}
}

func TestBitmapFill(t *testing.T) {
	r := rand.New(rand.NewPCG(bitmapSeed, 4))
	for _, n := range []int64{17, 64, 90, 300} {
		ranges(n, func(from, k int64) {
			bools, m := randomBits(r, n)
			v := r.IntN(2) == 0
			for i := range k {
				bools[from+i] = v
			}
			m.Fill(from, k, v)
			same(t, "Fill", m, bools)
		})
	}
}

func TestBitmapCopyFrom(t *testing.T) {
	r := rand.New(rand.NewPCG(bitmapSeed, 5))
	for _, n := range []int64{17, 64, 90, 300} {
		ranges(n, func(from, k int64) {
			for to := int64(0); to < 16; to++ {
				source, src := randomBits(r, n)
				bools, m := randomBits(r, to+k+r.Int64N(20))
				copy(bools[to:], source[from:from+k])
				m.CopyFrom(to, src[:BitmapBytes(from+k)], from, k)
				same(t, "CopyFrom", m, bools)
			}
		})
	}
}
