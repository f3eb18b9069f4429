package gpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// rowsWidth is how many columns a launch of gather_rows takes.
const rowsWidth = 8

// gatherRowsInto is the GPU's GatherRowsFunc. It does not wait for the stream.
func (e *Engine) gatherRowsInto(ctx context.Context, s device.Stream, columns []*memory.Column, rows *memory.Column, to kernels.RowsInto) (err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	values := c.matrixView("the values", to.Values, to.ColumnMajor)
	var mask matrixView
	if to.Mask.Data != nil {
		mask = c.matrixView("the mask", to.Mask, to.ColumnMajor)
	}
	n := rows.Len()
	for first := int64(0); first < int64(len(columns)); first += rowsWidth {
		some := columns[first:min(first+rowsWidth, int64(len(columns)))]
		args := []any{c.values(rows, 8), n, some[0].Len(), int32(kindOf(to.Values.Type)),
			values.vector, values.row, values.col, mask.vector, mask.row, mask.col, int32(len(some))}
		for k := range rowsWidth {
			if k >= len(some) {
				args = append(args, int32(kindNull), vector{}, vector{})
				continue
			}
			args = append(args, int32(kindOf(some[k].Type())), c.data(some[k]), c.validity(some[k]))
		}
		c.launch("gatherrows", "gather_rows", groupsFor(n, group/rowsWidth), args...)
		values.at += rowsWidth * values.col
		if mask.buffer != nil {
			mask.at += rowsWidth * mask.col
		}
	}
	return c.err
}
