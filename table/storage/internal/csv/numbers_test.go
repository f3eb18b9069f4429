package csv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Floats are those of strconv, bit for bit: also where half a unit decides, and
// for texts that are none.
func TestParseFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(20261121, 5))
	all := []string{"", "-", "+", ".", "-.", "1.", ".5", "-.5", "+1", "--1", "1e5", "0", "-0", "0.0", "00012", "1,2", "1_0", "NaN", "inf", "-Inf", "0x1p-2", "1 2",
		"9007199254740993", "9007199254740992.5", "9007199254740993.0", "4503599627370496.5", "4503599627370497.5", "0.3", "2.5", "1e-320", "12345678", "1234567x", "1234567.8",
		"9999999999999999999", "18446744073709551615", "18446744073709551616", "0.9999999999999999999", ".0000000000000000001", "1.7976931348623157e308", " 1.5\t", "1.5 x"}
	for range 200_000 {
		switch r.IntN(5) {
		case 0:
			all = append(all, strconv.FormatFloat(r.Float64(), 'f', -1, 64))
		case 1:
			all = append(all, strconv.FormatFloat(r.NormFloat64()*1e3, 'f', r.IntN(18), 64))
		case 2:
			all = append(all, fmt.Sprintf("%d.%0*d", r.Uint64()>>r.UintN(64), 1+r.IntN(20), r.Uint64()>>r.UintN(64)))
		case 3: // half-way between two floats, or next to it
			f := math.Ldexp(float64(1<<52|r.Uint64()>>12), -r.IntN(4))
			all = append(all, strconv.FormatFloat(f, 'f', -1, 64)+[]string{"5", "25", "75", "4999", "5001"}[r.IntN(5)])
		default:
			b := []byte(strconv.FormatUint(r.Uint64()>>r.UintN(64), 10))
			b[r.IntN(len(b))] = "0123456789.-+eE/:"[r.IntN(17)]
			all = append(all, string(b))
		}
	}
	for _, s := range all {
		want, err := strconv.ParseFloat(string(Trim([]byte(s))), 64)
		got, ok := parseFloat([]byte(s), 64)
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%q is %v, %v; strconv says %v, %v", s, got, ok, want, err)
		}
	}
}

// Whole numbers are those of strconv, whatever byte is wrong in them.
func TestParseDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(20261121, 6))
	for range 200_000 {
		b := []byte(strconv.FormatUint(r.Uint64()>>r.UintN(64), 10))
		if r.IntN(2) == 0 {
			b[r.IntN(len(b))] = byte(r.UintN(256))
		}
		want, err := strconv.ParseUint(string(b), 10, 64)
		if got, ok := parseDigits(b); ok != (err == nil) || ok && got != want {
			t.Errorf("%q is %d, %v; strconv says %d, %v", b, got, ok, want, err)
		}
	}
}

// The delimiter, an end of line and a quote are found at every place of a word.
func TestPlainFieldStops(t *testing.T) {
	for n := range 40 {
		for _, stop := range []byte{',', '\n'} {
			text := append([]byte("0123456789abcdefghijklmnopqrstuvwxyz-\x80\xff\x2b\x2d\x0b\x09\x23\x21")[:n:n], stop, 'x', ',', '"')
			f, next, fault := plainField(text, 0, ',')
			if fault != nil || int(f.to) != n || next != n {
				t.Errorf("%q: a field up to %d, next %d, %v", text, f.to, next, fault)
			}
		}
		text := append([]byte("0123456789abcdefghijklmnopqrstuvwxyz-----------")[:n:n], "x\"y,z"...)
		if _, _, fault := plainField(text, 0, ','); fault == nil {
			t.Errorf("%q: a quote inside of a field is not noticed", text)
		}
	}
}
