package kerneltest

import (
	"bytes"
	"fmt"
	"math"

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
	counted := int64(0)
	sameBits := sameBits(got, want)
	for i := range want.Len() {
		null := got.IsNull(i)
		if null {
			counted++
		}
		if null == want.IsNull(i) && (null || sameBits(i)) {
			continue
		}
		g, w := kernels.ScalarAt(got, i), kernels.ScalarAt(want, i)
		if !same(g, w, tol) {
			return fmt.Errorf("row %d: got %s, want %s", i, g, w)
		}
	}
	if n := got.NullCount(); n != counted {
		return fmt.Errorf("got a null count of %d, but %d nulls", n, counted)
	}
	return nil
}

// sameBits tells whether a value that is not null has the same bits in both
// columns. Only numbers are looked at: of all others it says no.
func sameBits(got, want *memory.Column) func(i int64) bool {
	t := want.Type()
	if want.Len() == 0 || memory.LayoutOf(t) != memory.LayoutFixed || t.ID() == arrow.DICTIONARY {
		return func(int64) bool { return false }
	}
	width := int64(memory.Width(t))
	g := got.Buffer(1).Bytes()[got.Offset()*width:]
	w := want.Buffer(1).Bytes()[want.Offset()*width:]
	return func(i int64) bool { return bytes.Equal(g[i*width:(i+1)*width], w[i*width:(i+1)*width]) }
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
