package fma

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact is x*y + z of finite numbers by big.Float, whose rounding to float32
// knows subnormal numbers.
func exact(x, y, z float32) float32 {
	wide := func(v float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(v)) }
	p := new(big.Float).SetPrec(1000).Mul(wide(x), wide(y))
	f, _ := p.Add(p, wide(z)).Float32()
	return f
}

// draw is a float32 of few bits, so that ties and near ties are common, of an
// exponent near one of two.
func draw(r *rand.Rand, exponent int) float32 {
	mantissa := float64(r.Uint32() >> (8 + r.IntN(24)))
	if r.IntN(2) == 0 {
		mantissa = float64(int(1)<<r.IntN(24) + r.IntN(3) - 1)
	}
	if r.IntN(2) == 0 {
		mantissa = -mantissa
	}
	return float32(math.Ldexp(mantissa, exponent+r.IntN(30)-15))
}

func TestFloat32IsRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ties := 0
	for range 500_000 {
		ex := []int{0, -75, -60, 30}[r.IntN(4)]
		x, y := draw(r, ex), draw(r, ex)
		z := draw(r, 2*ex-20+r.IntN(60))
		want := exact(x, y, z)
		if got := Float32(x, y, z); got != want || got != Of(x, y, z) {
			t.Fatalf("%x * %x + %x is %x, not %x", x, y, z, got, want)
		}
		if float32(float64(x)*float64(y)+float64(z)) != want {
			ties++
		}
	}
	if ties < 10 {
		t.Errorf("%d sums would have been rounded twice wrongly: too few to tell", ties)
	}
}

func TestSpecialValues(t *testing.T) {
	inf, zero := float32(math.Inf(1)), float32(0)
	minus := float32(math.Copysign(0, -1))
	for _, v := range [][4]float32{{inf, 1, 1, inf}, {1, 1, -inf, -inf}, {math.MaxFloat32, 2, 0, inf}, {math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32}, {minus, 1, zero, 0}, {1, -1, 1, 0}} {
		if got := Float32(v[0], v[1], v[2]); got != v[3] || math.Signbit(float64(got)) != math.Signbit(float64(v[3])) {
			t.Errorf("%v: %v", v, got)
		}
	}
	if got := Float32(minus, 1, minus); got != 0 || !math.Signbit(float64(got)) {
		t.Errorf("-0 * 1 + -0 is %v", got)
	}
	if got := Float32(inf, 0, 1); got == got {
		t.Errorf("Inf * 0 + 1 is %v", got)
	}
	if got := Of(0x1p-30, 0x1p-30, 1.0); got != 1 {
		t.Errorf("2^-60 + 1 is %v", got)
	}
}
