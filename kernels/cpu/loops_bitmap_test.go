package cpu

import (
	"math/rand/v2"
	"testing"
)

func TestBitmapLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, want, got *loops, r *rand.Rand, mem *guarded) {
		for _, loop := range []struct {
			name      string
			want, got func(dst, a, b []byte)
		}{
			{"and", want.bitmap.and, got.bitmap.and}, {"or", want.bitmap.or, got.bitmap.or},
			{"xor", want.bitmap.xor, got.bitmap.xor}, {"andNot", want.bitmap.andNot, got.bitmap.andNot},
		} {
			for k := range 2*maxLoop + 1 {
				n := k + k/maxLoop*4*k // every length up to 300, and some of several steps
				mem.again()
				dst, a, b := room[byte](mem, n), like(mem, randomBytes(r, n)), like(mem, randomBytes(r, n))
				expect := make([]byte, n)
				loop.want(expect, a, b)
				loop.got(dst, a, b)
				same(t, loop.name, n, dst, expect)
				mem.intact(loop.name, n, 0)
				loop.got(a, a, b)
				same(t, loop.name+" in place", n, a, expect)
			}
		}
		for n := range 4 * maxLoop {
			mem.again()
			b := like(mem, randomBytes(r, n))
			if g, w := got.bitmap.count(b), want.bitmap.count(b); g != w {
				t.Fatalf("count of %d bytes: %d, not %d", n, g, w)
			}
		}
	})
}

func BenchmarkBitmapAnd(b *testing.B) {
	dst, x, y := make([]byte, 1<<17), make([]byte, 1<<17), make([]byte, 1<<17)
	names, all := available()
	for i, l := range all {
		b.Run("tier="+names[i], func(b *testing.B) {
			b.SetBytes(int64(3 * len(dst)))
			for b.Loop() {
				l.bitmap.and(dst, x, y)
			}
		})
	}
}

func BenchmarkBitmapCount(b *testing.B) {
	x := make([]byte, 1<<17)
	names, all := available()
	for i, l := range all {
		b.Run("tier="+names[i], func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			for b.Loop() {
				l.bitmap.count(x)
			}
		})
	}
}
