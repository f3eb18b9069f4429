package memory

import "github.com/apache/arrow-go/v18/arrow"

// Layout tells how the values of an Arrow type lie in buffers. Buffer 0 of
// every column is the validity bitmap, or nil when no value is null.
type Layout int

// The layouts of Arrow's columnar format that volley knows.
const (
	LayoutUnknown     Layout = iota
	LayoutNull               // no buffers at all: every value is null
	LayoutBits               // buffer 1: one bit a value (bool)
	LayoutFixed              // buffer 1: Width(t) bytes a value
	LayoutBinary             // buffer 1: int32 offsets, buffer 2: bytes
	LayoutLargeBinary        // buffer 1: int64 offsets, buffer 2: bytes
	LayoutList               // buffer 1: int32 offsets, child 0: the items
	LayoutLargeList          // buffer 1: int64 offsets, child 0: the items
	LayoutStruct             // no buffer but validity; a child a field
	LayoutDictionary         // buffer 1: indices of Width(t) bytes; Dictionary(): the values
)

// LayoutOf is the layout of t, LayoutUnknown for types that columns have not
// got: views and values of a fixed size, which are held as others (see Held),
// unions, run-end encoded, intervals.
func LayoutOf(t arrow.DataType) Layout {
	switch t.ID() {
	case arrow.NULL:
		return LayoutNull
	case arrow.BOOL:
		return LayoutBits
	case arrow.STRING, arrow.BINARY:
		return LayoutBinary
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return LayoutLargeBinary
	case arrow.LIST:
		return LayoutList
	case arrow.LARGE_LIST:
		return LayoutLargeList
	case arrow.STRUCT:
		return LayoutStruct
	case arrow.DICTIONARY:
		return LayoutDictionary
	default:
		if Width(t) > 0 {
			return LayoutFixed
		}
		return LayoutUnknown
	}
}

// Width is the number of bytes that one value of t takes in buffer 1: of a
// dictionary its index. It is 0 where that is no fixed whole number of bytes.
func Width(t arrow.DataType) int {
	switch t.ID() {
	case arrow.INT8, arrow.UINT8:
		return 1
	case arrow.INT16, arrow.UINT16, arrow.FLOAT16:
		return 2
	case arrow.INT32, arrow.UINT32, arrow.FLOAT32, arrow.DATE32, arrow.TIME32:
		return 4
	case arrow.INT64, arrow.UINT64, arrow.FLOAT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return 8
	case arrow.DECIMAL128:
		return 16
	case arrow.DICTIONARY:
		return Width(t.(*arrow.DictionaryType).IndexType)
	default:
		return 0
	}
}

// bufferCount is how many buffers a column of that layout has, validity among
// them.
func (l Layout) bufferCount() int {
	switch l {
	case LayoutNull:
		return 0
	case LayoutStruct:
		return 1
	case LayoutBits, LayoutFixed, LayoutDictionary, LayoutList, LayoutLargeList:
		return 2
	case LayoutBinary, LayoutLargeBinary:
		return 3
	default:
		return 0
	}
}
