package kernels

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/float16"
	"github.com/volley-go/volley/memory"
)

// ScalarAt is value i of a host column; of a dictionary column the value that
// the index stands for, of the value's type.
func ScalarAt(c *memory.Column, i int64) Scalar {
	t := c.Type()
	if c.IsNull(i) {
		if d, ok := t.(*arrow.DictionaryType); ok {
			t = d.ValueType
		}
		return Null(t)
	}
	switch t.ID() {
	case arrow.BOOL:
		return Bool(c.Bits().Get(c.Offset() + i))
	case arrow.INT8:
		return Int(t, int64(memory.Values[int8](c)[i]))
	case arrow.INT16:
		return Int(t, int64(memory.Values[int16](c)[i]))
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return Int(t, int64(memory.Values[int32](c)[i]))
	case arrow.UINT8:
		return Int(t, int64(memory.Values[uint8](c)[i]))
	case arrow.UINT16:
		return Int(t, int64(memory.Values[uint16](c)[i]))
	case arrow.UINT32:
		return Int(t, int64(memory.Values[uint32](c)[i]))
	case arrow.FLOAT16: // no kernel computes with it: seen as the float32 it equals
		return Float(arrow.PrimitiveTypes.Float32, float64(float16.Widen(memory.Values[uint16](c)[i])))
	case arrow.FLOAT32:
		return Scalar{typ: t, valid: true, bits: uint64(math.Float32bits(memory.Values[float32](c)[i]))}
	case arrow.FLOAT64:
		return Scalar{typ: t, valid: true, bits: math.Float64bits(memory.Values[float64](c)[i])}
	case arrow.DECIMAL128:
		v := memory.Values[[2]uint64](c)[i]
		return Scalar{typ: t, valid: true, bits: v[0], high: int64(v[1])}
	case arrow.STRING, arrow.BINARY:
		o := memory.Offsets[int32](c)
		return Text(t, textOf(c, int64(o[i]), int64(o[i+1])))
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		o := memory.Offsets[int64](c)
		return Text(t, textOf(c, o[i], o[i+1]))
	case arrow.DICTIONARY:
		return ScalarAt(c.Dictionary(), c.Index(i))
	case arrow.LIST:
		o := memory.Offsets[int32](c)
		return Nested(t, itemsOf(c.Child(0), int64(o[i]), int64(o[i+1])))
	case arrow.LARGE_LIST:
		o := memory.Offsets[int64](c)
		return Nested(t, itemsOf(c.Child(0), o[i], o[i+1]))
	case arrow.STRUCT:
		items := make([]Scalar, c.NumChildren())
		for k := range items {
			items[k] = ScalarAt(c.Child(k), c.Offset()+i)
		}
		return Nested(t, items)
	default:
		return Int(t, memory.Values[int64](c)[i])
	}
}

func textOf(c *memory.Column, from, to int64) string {
	if from == to {
		return ""
	}
	return string(c.Buffer(2).Bytes()[from:to])
}

func itemsOf(c *memory.Column, from, to int64) []Scalar {
	items := make([]Scalar, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, ScalarAt(c, i))
	}
	return items
}

// Scalars are all values of a host column.
func Scalars(c *memory.Column) []Scalar { return itemsOf(c, 0, c.Len()) }

// FromScalars builds a host column of type t of values of that type, or of
// nulls of any. A dictionary type is built with int32 or its own indices into
// the distinct values in order of first appearance.
func FromScalars(a memory.Allocator, t arrow.DataType, values []Scalar) (*memory.Column, error) {
	b := columnBuilder{alloc: a}
	c := b.column(t, values)
	if b.err != nil {
		c.Release()
		return nil, b.err
	}
	return c, nil
}
