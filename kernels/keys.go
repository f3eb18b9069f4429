package kernels

import (
	"cmp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// CompareKeys orders two values of one type as keys of sort, group and join:
// -1, 0 or 1. NaNs are equal to each other and greater than all other values,
// nulls equal to each other and greater than NaNs, -0 equals 0, false is less
// than true, strings go by bytes.
func CompareKeys(a, b Scalar) int {
	if !a.valid || !b.valid {
		return cmp.Compare(boolInt(!a.valid), boolInt(!b.valid))
	}
	switch id := a.typ.ID(); {
	case FloatTypes.Has(id):
		x, y := a.Float64(), b.Float64()
		if x != x || y != y {
			return cmp.Compare(boolInt(x != x), boolInt(y != y))
		}
		return cmp.Compare(x, y)
	case BinaryTypes.Has(id):
		return strings.Compare(a.text, b.text)
	case UnsignedTypes.Has(id):
		return cmp.Compare(a.bits, b.bits)
	case id == arrow.DECIMAL128:
		if c := cmp.Compare(a.high, b.high); c != 0 {
			return c
		}
		return cmp.Compare(a.bits, b.bits)
	case NestedTypes.Has(id):
		for i := range min(len(a.items), len(b.items)) {
			if c := CompareKeys(a.items[i], b.items[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.items), len(b.items))
	default:
		return cmp.Compare(int64(a.bits), int64(b.bits))
	}
}

func boolInt(v bool) int {
	if v {
		return 1
	}
	return 0
}
