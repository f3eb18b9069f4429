package gpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// kind tells a kernel how to read values: the numbers of scalar.h.
type kind int32

const (
	kindNull kind = iota
	kindBool
	kindI8
	kindI16
	kindI32
	kindI64
	kindU8
	kindU16
	kindU32
	kindU64
	kindF32
	kindF64
	kindWide
	kindText
	kindLarge
)

// kindOf is the kind of a plain type; temporal types are their integers.
func kindOf(t arrow.DataType) kind {
	switch t.ID() {
	case arrow.NULL:
		return kindNull
	case arrow.BOOL:
		return kindBool
	case arrow.INT8:
		return kindI8
	case arrow.INT16:
		return kindI16
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return kindI32
	case arrow.UINT8:
		return kindU8
	case arrow.UINT16:
		return kindU16
	case arrow.UINT32:
		return kindU32
	case arrow.UINT64:
		return kindU64
	case arrow.FLOAT32:
		return kindF32
	case arrow.FLOAT64:
		return kindF64
	case arrow.DECIMAL128:
		return kindWide
	case arrow.STRING, arrow.BINARY:
		return kindText
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return kindLarge
	default:
		return kindI64
	}
}

func (k kind) text() bool { return k == kindText || k == kindLarge }

// plainType is the type of the values: of a dictionary that of its dictionary.
func plainType(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// data is the values of a plain column of any type but the nested ones, or of
// its dictionary, for kernels that read by kind: bits of a bool column, the
// offsets of a text column.
func (c *call) data(col *memory.Column) vector {
	switch k := kindOf(col.Type()); {
	case k == kindNull:
		return vector{}
	case k == kindBool:
		return c.bits(col)
	case k == kindText:
		return c.values(col, 4)
	case k == kindLarge:
		return c.values(col, 8)
	default:
		return c.values(col, memory.Width(col.Type()))
	}
}

// readable is a column as the arguments that COLUMN of hash.cl declares: kind,
// values, validity, and of a dictionary column kind, values and validity of its
// indices.
func (c *call) readable(col *memory.Column) []any {
	values, indexKind := col, kindNull
	var index, indexValid vector
	if d, ok := col.Type().(*arrow.DictionaryType); ok {
		values, indexKind = col.Dictionary(), kindOf(d.IndexType)
		index, indexValid = c.values(col, memory.Width(d)), c.validity(col)
	}
	return []any{int32(kindOf(values.Type())), c.data(values), c.validity(values), int32(indexKind), index, indexValid}
}
