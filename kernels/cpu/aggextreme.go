package cpu

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// finishExtreme plans min and max of numbers and times.
func (f *finish) finishExtreme(p *aggPlan, col int) {
	switch p.cols[col].c.Type().ID() {
	case arrow.INT8:
		extremeByGroup[int8](f, p, col, math.MinInt8, math.MaxInt8)
	case arrow.INT16:
		extremeByGroup[int16](f, p, col, math.MinInt16, math.MaxInt16)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		extremeByGroup[int32](f, p, col, math.MinInt32, math.MaxInt32)
	case arrow.UINT8:
		extremeByGroup[uint8](f, p, col, 0, math.MaxUint8)
	case arrow.UINT16:
		extremeByGroup[uint16](f, p, col, 0, math.MaxUint16)
	case arrow.UINT32:
		extremeByGroup[uint32](f, p, col, 0, math.MaxUint32)
	case arrow.UINT64:
		extremeByGroup[uint64](f, p, col, 0, math.MaxUint64)
	case arrow.FLOAT32:
		extremeByGroup(f, p, col, float32(math.NaN()), float32(math.NaN()))
	case arrow.FLOAT64:
		extremeByGroup(f, p, col, math.NaN(), math.NaN())
	default:
		extremeByGroup[int64](f, p, col, math.MinInt64, math.MaxInt64)
	}
}

func extremeByGroup[T cmp.Ordered](f *finish, p *aggPlan, col int, least, greatest T) {
	max, worst := f.agg.Op == kernels.Max, greatest
	if max {
		worst = least
	}
	values, o := memory.Values[T](p.cols[col].c), f.out
	f.main = p.state(f.agg.Op.String(), col, func() state {
		return &extremeState[T]{groupValues[T]{a: p.a}, values, worst, max}
	})
	f.write = func(s state, _ uint32, g int, at uint32) {
		memory.View[T](o.values)[at] = s.(*extremeState[T]).acc.s[g]
	}
}

// rowPicker tells whether a row has a greater value than another, or a lesser.
func rowPicker(c *memory.Column, greatest bool) func(row, than uint32) bool {
	if c.Type().ID() == arrow.DECIMAL128 {
		v := memory.Values[decimal](c)
		return func(row, than uint32) bool { return beatsDecimal(v[row], v[than], greatest) }
	}
	if greatest {
		return func(row, than uint32) bool { return picks(c, row, than) > 0 }
	}
	return func(row, than uint32) bool { return picks(c, row, than) < 0 }
}

// picks compares two rows of a column, neither of them null, for min and max
// that pick rows: -1, 0 or 1.
func picks(c *memory.Column, i, j uint32) int {
	if dict := c.Dictionary(); dict != nil {
		return picks(dict, uint32(c.Index(int64(i))), uint32(c.Index(int64(j))))
	}
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutBinary:
		o, b := memory.Offsets[int32](c), bytesOf(c)
		return bytes.Compare(b[o[i]:o[i+1]], b[o[j]:o[j+1]])
	case memory.LayoutLargeBinary:
		o, b := memory.Offsets[int64](c), bytesOf(c)
		return bytes.Compare(b[o[i]:o[i+1]], b[o[j]:o[j+1]])
	}
	if c.Type().ID() == arrow.DECIMAL128 {
		v := memory.Values[[2]uint64](c)
		if d := cmp.Compare(int64(v[i][1]), int64(v[j][1])); d != 0 {
			return d
		}
		return cmp.Compare(v[i][0], v[j][0])
	}
	return 0 // of type null: nothing to choose from
}

// floatAt reads a value of a column of numbers as a float; a decimal is scaled.
func floatAt(c *memory.Column) func(row uint32) float64 {
	switch c.Type().ID() {
	case arrow.INT8:
		return floatOf[int8](c)
	case arrow.INT16:
		return floatOf[int16](c)
	case arrow.INT32:
		return floatOf[int32](c)
	case arrow.INT64:
		return floatOf[int64](c)
	case arrow.UINT8:
		return floatOf[uint8](c)
	case arrow.UINT16:
		return floatOf[uint16](c)
	case arrow.UINT32:
		return floatOf[uint32](c)
	case arrow.UINT64:
		return floatOf[uint64](c)
	case arrow.FLOAT32:
		return floatOf[float32](c)
	case arrow.DECIMAL128:
		v, scale := memory.Values[[2]uint64](c), math.Pow10(int(c.Type().(*arrow.Decimal128Type).Scale))
		return func(row uint32) float64 { return wide{v[row][0], int64(v[row][1])}.float() / scale }
	case arrow.NULL:
		return func(uint32) float64 { return 0 } // never called
	default:
		return floatOf[float64](c)
	}
}

func floatOf[T integer | float32 | float64](c *memory.Column) func(row uint32) float64 {
	v := memory.Values[T](c)
	return func(row uint32) float64 { return float64(v[row]) }
}
