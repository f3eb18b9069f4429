package csv

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// sureDigits is how many decimal digits fit 64 bits whatever they are.
const sureDigits = 19

// parseDigits reads a whole number without a sign.
func parseDigits(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	if len(b) > sureDigits { // only here can it overflow
		u, err := strconv.ParseUint(text(b), 10, 64)
		return u, err == nil && b[0] != '+'
	}
	u, rest := digits(0, b)
	return u, len(rest) == 0
}

// digits appends the decimal digits that b begins with to u, and gives what
// follows them. It looks at eight bytes at a time, also beyond b where the text
// goes on.
func digits(u uint64, b []byte) (uint64, []byte) {
	for len(b) > 0 && cap(b) >= 8 {
		w := binary.LittleEndian.Uint64(b[:8])
		n := min(leadingDigits(w), len(b))
		if n == 8 {
			u, b = u*100_000_000+eight(w), b[8:]
			continue
		}
		// shifted to the end, with zeros before them
		return u*tens[n] + eight(w<<(64-8*uint(n))), b[n:]
	}
	for len(b) > 0 {
		d := b[0] - '0'
		if d > 9 {
			break
		}
		u, b = u*10+uint64(d), b[1:]
	}
	return u, b
}

// leadingDigits is how many bytes of a word, from the lowest on, are decimal
// digits: their high halves are 3, and stay so when 6 is added.
func leadingDigits(w uint64) int {
	const high, six, threes = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606, 0x3030303030303030
	return bits.TrailingZeros64((w&high^threes)|((w+six)&high^threes)) >> 3
}

// eight is the number of eight digits, the first in the lowest byte: pairs of
// digits, then of those, then of those.
func eight(w uint64) uint64 {
	w &= 0x0f0f0f0f0f0f0f0f
	w = w*10 + w>>8
	const pairs = 0x000000ff000000ff
	return (w&pairs*(100+1_000_000<<32) + w>>16&pairs*(1+10_000<<32)) >> 32
}

// noDigit is not 0 where a byte of a word is above 9.
func noDigit(w uint64) uint64 {
	const toHigh = everyByte * (0x80 - 10)
	return (w + toHigh | w) & (everyByte << 7)
}

// lastDigits is the number of the n digits before text[to], of which there are 1 to 19. The
// numberReach bytes before there are loaded, whatever stands in them.
func lastDigits(text []byte, to, n int) (uint64, bool) {
	if uint(n-1) >= sureDigits {
		return 0, false
	}
	near := text[to-numberReach : to]
	low := binary.LittleEndian.Uint64(near[16:]) ^ '0'*everyByte
	if n <= 8 {
		shift := uint(64-8*n) & 63
		low = low >> shift << shift
		return eight(low), noDigit(low) == 0
	}
	// of the words before, the bytes that are in front of the number become zeros
	mid, high := binary.LittleEndian.Uint64(near[8:])^'0'*everyByte, binary.LittleEndian.Uint64(near)^'0'*everyByte
	inMid, inHigh := uint(8*max(0, 16-n)), uint(8*(numberReach-n))
	mid, high = mid>>inMid<<inMid, high>>inHigh<<inHigh
	u := eight(low) + eight(mid)*100_000_000 + eight(high)*10_000_000_000_000_000
	return u, noDigit(low)|noDigit(mid)|noDigit(high) == 0
}

// signed64 is v, or -v where negative is 1.
func signed64(v float64, negative int) float64 {
	return math.Float64frombits(math.Float64bits(v) | uint64(negative)<<63)
}

// parseFloat reads what strconv.ParseFloat does, NaN and infinities too.
func parseFloat(b []byte, size int) (float64, bool) {
	b = Trim(b)
	if size == 64 {
		if v, ok := plainFloat(b); ok {
			return v, true
		}
	}
	v, err := strconv.ParseFloat(text(b), size)
	return v, err == nil
}

// plainFloat reads a number of up to 19 digits and no exponent; others are not
// ok. Digits m with a point before the last e of them are m/10^e, of which the
// first 62 bits or more come from one division of integers where a product does not tell enough.
// Its remainder goes into the last bit, so that the conversion to a float, which is the only step
// that rounds, rounds as the quotient itself would.
func plainFloat(b []byte) (float64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > sureDigits+1 {
		return 0, false
	}
	m, rest := digits(0, b)
	count, e := len(b)-len(rest), 0
	if len(rest) > 0 && rest[0] == '.' {
		after := rest[1:]
		m, rest = digits(m, after)
		e = len(after) - len(rest)
	}
	if count += e; len(rest) > 0 || count == 0 || count > sureDigits {
		return 0, false
	}
	v := float64(m)
	if m>>53 != 0 {
		v = quotient(m, e)
	} else {
		v /= exactTens[e] // both are exact
	}
	if negative {
		v = -v
	}
	return v, true
}

// exactTens are the powers of ten that are floats.
var exactTens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// tens are the powers of ten that fit 64 bits.
var tens = func() (t [sureDigits + 1]uint64) {
	t[0] = 1
	for i := range t[1:] {
		t[i+1] = 10 * t[i]
	}
	return t
}()

// quotient is m/10^e, rounded to the nearest float, for an e up to 19. Where what the product of m
// and a reciprocal leaves open does not matter for the float, that is it (D. Lemire, Number
// Parsing at a Gigabyte per Second, Software: Practice and Experience 51, 2021).
func quotient(m uint64, e int) float64 {
	if m == 0 {
		return 0
	}
	up, t := bits.LeadingZeros64(m), &reciprocals[e]
	q, _ := bits.Mul64(m<<uint(up), t.factor) // up to 2 less than the quotient times a power of two
	q >>= 1                                   // a signed number takes no branch to convert
	v := float64(int64(q))
	if v != float64(int64(q+2)) {
		v = float64(int64(divided(m<<uint(up), t.divisor)))
	}
	return v * math.Float64frombits(uint64(1024-63+t.down-up)<<52)
}

// reciprocal is a power of ten with its highest bit moved to bit 63, and what a product with
// has in its upper 64 bits instead of a division by it.
type reciprocal struct {
	factor, divisor uint64
	down            int // how far it was moved
}

var reciprocals = func() (r [sureDigits + 1]reciprocal) {
	for e, d := range tens {
		down := bits.LeadingZeros64(d)
		d <<= uint(down)
		factor, _ := bits.Div64(1<<63-1, 1<<64-1, d)
		r[e] = reciprocal{factor, d, down}
	}
	return r
}()

// divided is 2^62 * m/d, of which the last bit also says that there is more.
func divided(m, d uint64) uint64 {
	q, rest := bits.Div64(m>>1, m<<63, d)
	if rest != 0 {
		q |= 1
	}
	return q>>1 | q&1
}
