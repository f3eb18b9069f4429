package kerneltest

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Tolerance is how far a float may be from the reference: the greater of Abs
// and Rel times the reference's magnitude. The zero value asks for the same
// bits, except that any NaN equals any other.
type Tolerance struct{ Abs, Rel float64 }

// ZeroSigns is exact but for the sign of a zero.
var ZeroSigns = Tolerance{Abs: math.SmallestNonzeroFloat64}

// Equal holds a result on the host against the wanted column: type, length,
// null count, nulls by position, and values. It returns nil or an error that
// names the first row that differs and both values.
func Equal(got, want *memory.Column, tol Tolerance) error {
	if got == nil || want == nil {
		if got == want {
			return nil
		}
		return fmt.Errorf("got column %v, want %v", got != nil, want != nil)
	}
	if !arrow.TypeEqual(got.Type(), want.Type()) {
		return fmt.Errorf("got type %s, want %s", got.Type(), want.Type())
	}
	if got.Len() != want.Len() {
		return fmt.Errorf("got %d rows, want %d", got.Len(), want.Len())
	}
	if err := got.Validate(); err != nil {
		return fmt.Errorf("got a malformed column: %w", err)
	}
	counted, sameRun := int64(0), sameRun(got, want)
	for from := int64(0); from < want.Len(); from += 64 {
		n := min(64, want.Len()-from)
		g, w := valid(got, from, n), valid(want, from, n)
		counted += n - int64(bits.OnesCount64(g))
		if g == w && eachRun(w, func(i, n int64) bool { return sameRun(from+i, n) }) {
			continue
		}
		for k := range n {
			i, bit := from+k, uint64(1)<<uint(k)
			if g&bit == w&bit && (w&bit == 0 || sameRun(i, 1)) {
				continue
			}
			if g, w := kernels.ScalarAt(got, i), kernels.ScalarAt(want, i); !same(g, w, tol) {
				return fmt.Errorf("row %d: got %s, want %s", i, g, w)
			}
		}
	}
	if n := got.NullCount(); n != counted {
		return fmt.Errorf("got a null count of %d, but %d nulls", n, counted)
	}
	return nil
}

// valid has a bit for each of n rows, at most 64, from row i on: whether it is not null.
func valid(c *memory.Column, i, n int64) uint64 {
	switch {
	case c.Type().ID() == arrow.NULL:
		return 0
	case c.Buffer(0) == nil:
		return ^uint64(0) >> uint(64-n)
	}
	return memory.Bitmap(c.Buffer(0).Bytes()).Word(c.Offset()+i, n)
}

// eachRun tells whether f says yes to every run of bits that are set: its first, and how many.
func eachRun(word uint64, f func(i, n int64) bool) bool {
	for word != 0 {
		i := bits.TrailingZeros64(word)
		n := bits.TrailingZeros64(^(word >> i))
		if !f(int64(i), int64(n)) {
			return false
		}
		word &^= ^uint64(0) >> uint(64-n) << i
	}
	return true
}

// sameRun tells whether n values from row i on, none of them null, have the same bits in both columns. Values are looked at one by one
// only where it says no, as it does of all that are neither numbers nor bools nor texts.
func sameRun(got, want *memory.Column) func(i, n int64) bool {
	t := want.Type()
	switch layout := memory.LayoutOf(t); {
	case want.Len() == 0:
	case layout == memory.LayoutBits:
		return func(i, n int64) bool {
			return got.Bits().Word(got.Offset()+i, n) == want.Bits().Word(want.Offset()+i, n)
		}
	case layout == memory.LayoutFixed:
		width := int64(memory.Width(t))
		g := got.Buffer(1).Bytes()[got.Offset()*width:]
		w := want.Buffer(1).Bytes()[want.Offset()*width:]
		return func(i, n int64) bool { return bytes.Equal(g[i*width:(i+n)*width], w[i*width:(i+n)*width]) }
	case layout == memory.LayoutBinary:
		return sameTexts[int32](got, want)
	case layout == memory.LayoutLargeBinary:
		return sameTexts[int64](got, want)
	}
	return func(int64, int64) bool { return false }
}

func sameTexts[T int32 | int64](got, want *memory.Column) func(i, n int64) bool {
	g, w := memory.Offsets[T](got), memory.Offsets[T](want)
	var gotText, wantText []byte
	if b := got.Buffer(2); b != nil {
		gotText = b.Bytes()
	}
	if b := want.Buffer(2); b != nil {
		wantText = b.Bytes()
	}
	return func(i, n int64) bool {
		for k := i; k < i+n; k++ {
			if g[k+1]-g[k] != w[k+1]-w[k] {
				return false
			}
		}
		return bytes.Equal(gotText[g[i]:g[i+n]], wantText[w[i]:w[i+n]])
	}
}

func same(g, w kernels.Scalar, tol Tolerance) bool {
	if g.Valid() != w.Valid() {
		return false
	}
	if !w.Valid() {
		return true
	}
	switch id := w.Type().ID(); {
	case kernels.FloatTypes.Has(id):
		x, y := g.Float64(), w.Float64()
		if x != x || y != y {
			return x != x && y != y
		}
		if math.Float64bits(x) == math.Float64bits(y) {
			return true
		}
		return math.Abs(x-y) <= max(tol.Abs, tol.Rel*math.Abs(y)) && tol != Tolerance{}
	case kernels.BinaryTypes.Has(id):
		return g.Text() == w.Text()
	case id == arrow.DECIMAL128:
		return g.Decimal() == w.Decimal()
	case kernels.NestedTypes.Has(id):
		if len(g.Items()) != len(w.Items()) {
			return false
		}
		for i := range w.Items() {
			if !same(g.Items()[i], w.Items()[i], tol) {
				return false
			}
		}
		return true
	default:
		return g.Uint64() == w.Uint64()
	}
}
