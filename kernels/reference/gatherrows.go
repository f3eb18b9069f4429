package reference

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func gatherRows(ctx context.Context, s device.Stream, columns []*memory.Column, rows *memory.Column, to kernels.RowsInto) error {
	for j, c := range columns {
		if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
			return err
		}
		if to.Mask.Data != nil {
			put := element[uint8](to.Mask, to.ColumnMajor)
			for i, r := range memory.Values[int64](rows) {
				*put(int64(i), int64(j)) = 0
				if uint64(r) < uint64(c.Len()) && !c.IsNull(r) {
					*put(int64(i), int64(j)) = 1
				}
			}
		}
		switch to.Values.Type.ID() {
		case arrow.INT8:
			gatherColumn[int8](c, rows, to, int64(j))
		case arrow.INT16:
			gatherColumn[int16](c, rows, to, int64(j))
		case arrow.INT32:
			gatherColumn[int32](c, rows, to, int64(j))
		case arrow.INT64:
			gatherColumn[int64](c, rows, to, int64(j))
		case arrow.UINT8:
			gatherColumn[uint8](c, rows, to, int64(j))
		case arrow.UINT16:
			gatherColumn[uint16](c, rows, to, int64(j))
		case arrow.UINT32:
			gatherColumn[uint32](c, rows, to, int64(j))
		case arrow.UINT64:
			gatherColumn[uint64](c, rows, to, int64(j))
		case arrow.FLOAT32:
			gatherColumn[float32](c, rows, to, int64(j))
		default:
			gatherColumn[float64](c, rows, to, int64(j))
		}
	}
	return nil
}

// gatherColumn writes rows of one column into column j of a matrix.
func gatherColumn[T number](c, rows *memory.Column, to kernels.RowsInto, j int64) {
	at, put := numberAt[T](c), element[T](to.Values, to.ColumnMajor)
	for i, r := range memory.Values[int64](rows) {
		*put(int64(i), j) = 0
		if uint64(r) < uint64(c.Len()) && !c.IsNull(r) {
			*put(int64(i), j) = at(r)
		}
	}
}

// numberAt reads values of a column as T.
func numberAt[T number](c *memory.Column) func(int64) T {
	switch c.Type().ID() {
	case arrow.BOOL:
		bits, from := c.Bits(), c.Offset()
		return func(i int64) T {
			if bits.Get(from + i) {
				return 1
			}
			return 0
		}
	case arrow.INT8:
		return numbersAs[int8, T](c)
	case arrow.INT16:
		return numbersAs[int16, T](c)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return numbersAs[int32, T](c)
	case arrow.UINT8:
		return numbersAs[uint8, T](c)
	case arrow.UINT16:
		return numbersAs[uint16, T](c)
	case arrow.UINT32:
		return numbersAs[uint32, T](c)
	case arrow.UINT64:
		return numbersAs[uint64, T](c)
	case arrow.FLOAT32:
		return numbersAs[float32, T](c)
	case arrow.FLOAT64:
		return numbersAs[float64, T](c)
	default:
		return numbersAs[int64, T](c)
	}
}

func numbersAs[S, T number](c *memory.Column) func(int64) T {
	v := memory.Values[S](c)
	return func(i int64) T { return T(v[i]) }
}
