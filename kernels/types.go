package kernels

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
)

// Types is a set of Arrow type ids, one bit for each.
type Types uint64

// TypesOf makes a set of ids.
func TypesOf(ids ...arrow.Type) Types {
	var t Types
	for _, id := range ids {
		t |= 1 << uint(id)
	}
	return t
}

// Has reports whether id is in the set.
func (t Types) Has(id arrow.Type) bool { return t>>uint(id)&1 != 0 }

// IDs lists the ids in rising order.
func (t Types) IDs() []arrow.Type {
	ids := make([]arrow.Type, 0, bits.OnesCount64(uint64(t)))
	for ; t != 0; t &= t - 1 {
		ids = append(ids, arrow.Type(bits.TrailingZeros64(uint64(t))))
	}
	return ids
}

// Families of types that kernels state their support in.
var (
	SignedTypes   = TypesOf(arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64)
	UnsignedTypes = TypesOf(arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64)
	IntegerTypes  = SignedTypes | UnsignedTypes
	FloatTypes    = TypesOf(arrow.FLOAT32, arrow.FLOAT64)
	NumberTypes   = IntegerTypes | FloatTypes
	BoolTypes     = TypesOf(arrow.BOOL)
	DecimalTypes  = TypesOf(arrow.DECIMAL128)
	TemporalTypes = TypesOf(arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION)
	DurationTypes = TypesOf(arrow.DURATION)
	BinaryTypes   = TypesOf(arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY)
	NullTypes     = TypesOf(arrow.NULL)
	DictTypes     = TypesOf(arrow.DICTIONARY)
	NestedTypes   = TypesOf(arrow.LIST, arrow.LARGE_LIST, arrow.STRUCT)

	// FixedTypes have values of a fixed number of bytes.
	FixedTypes = NumberTypes | DecimalTypes | TemporalTypes
	// KeyTypes can be compared, hashed, sorted, grouped and joined on.
	KeyTypes = FixedTypes | BoolTypes | BinaryTypes | NullTypes | DictTypes
	// AllTypes can be moved: filter, take, concat.
	AllTypes = KeyTypes | NestedTypes
)

// IndexType is the type of row numbers below n and of counts up to n: uint32
// while they fit, else uint64. Kernels that return row numbers (sort, join,
// group, partition) use it, and take accepts either.
func IndexType(n int64) arrow.DataType {
	if n < 1<<32 {
		return arrow.PrimitiveTypes.Uint32
	}
	return arrow.PrimitiveTypes.Uint64
}
