package float16

import (
	"math"
	"math/rand/v2"
	"testing"
)

// value is what the bits of a binary16 mean, by its definition.
func value(h uint16) float64 {
	sign, exp, frac := 1-2*float64(h>>15), int(h>>10)&31, float64(h&1023)
	switch {
	case exp == 31 && frac > 0:
		return math.NaN()
	case exp == 31:
		return math.Inf(int(sign))
	case exp == 0:
		return sign * math.Ldexp(frac, -24)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// TestWiden looks at every number, and at the way back.
func TestWiden(t *testing.T) {
	for h := range 1 << 16 {
		f, want := Widen(uint16(h)), value(uint16(h))
		if want != want {
			if g := Widen(Round(f)); f == f || g == g {
				t.Fatalf("NaN %04x is %v, and back %v", h, f, g)
			}
			continue
		}
		if float64(f) != want || math.Signbit(float64(f)) != (h>>15 == 1) {
			t.Fatalf("%04x is %v, not %v", h, f, want)
		}
		if g := Round(f); g != uint16(h) {
			t.Fatalf("%04x is %v, which becomes %04x", h, f, g)
		}
	}
}

// TestRound holds floats about and between all neighbours, and random ones, to become
// the nearer one, and in the middle the even one.
func TestRound(t *testing.T) {
	check := func(f float32, low uint16) { // between low and the next number
		below, above := value(low), value(low+1)
		if low == 0x7bff {
			above = 65536 // where the next number would be
		}
		want, near, far := low, float64(f)-below, above-float64(f)
		if near > far || near == far && low&1 == 1 {
			want++
		}
		if got := Round(f); got != want {
			t.Fatalf("%v, between %v and %v, becomes %04x, not %04x", f, below, above, got, want)
		}
		if got := Round(-f); got != want|0x8000 {
			t.Fatalf("%v becomes %04x, not %04x", -f, got, want|0x8000)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for low := range uint16(0x7c00) {
		below, above := value(low), value(low+1)
		if low == 0x7bff {
			above = 65536
		}
		middle := float32((below + above) / 2) // which a float32 can hold
		for _, f := range []float32{math.Nextafter32(middle, 0), middle, math.Nextafter32(middle, 1e9), float32(below + (above-below)*random.Float64()*0.999)} {
			check(f, low)
		}
	}
	for f, want := range map[float32]uint16{1e9: 0x7c00, float32(math.Inf(-1)): 0xfc00, 0x1p-26: 0, math.SmallestNonzeroFloat32: 0} {
		if got := Round(f); got != want {
			t.Errorf("%v becomes %04x, not %04x", f, got, want)
		}
	}
	if got := Round(math.Float32frombits(0x7f800001)); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
		t.Errorf("NaN becomes %04x", got)
	}
}

func TestBrain(t *testing.T) {
	for h := range 1 << 16 {
		if f := WidenBrain(uint16(h)); f == f && RoundBrain(f) != uint16(h) || f != f && WidenBrain(RoundBrain(f)) == WidenBrain(RoundBrain(f)) {
			t.Fatalf("%04x is %v, which becomes %04x", h, f, RoundBrain(f))
		}
	}
	for f, want := range map[float32]uint16{
		1: 0x3f80, 1 + 0x1p-8: 0x3f80, 1 + 0x1.8p-8: 0x3f81, 1 + 0x1p-7 + 0x1p-8: 0x3f82, -2: 0xc000, float32(math.Inf(1)): 0x7f80, math.MaxFloat32: 0x7f80,
	} {
		if got := RoundBrain(f); got != want {
			t.Errorf("%v becomes %04x, not %04x", f, got, want)
		}
	}
}
