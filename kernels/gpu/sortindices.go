package gpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// sortIndices is the GPU's SortIndicesFunc.
func (e *Engine) sortIndices(ctx context.Context, s device.Stream, keys []kernels.SortKey) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := keys[0].Values.Len()
	sorted := c.sortList(keys, sortList{n: n, width: rowWidth(n)})
	return c.give(c.rowsColumn(sorted, n, n)), c.err
}

// rowsColumn is a column of the first k of the row numbers in a scratch buffer,
// of rows of a column of n.
func (c *call) rowsColumn(rows *memory.Buffer, k, n int64) *memory.Column {
	width := int64(rowWidth(n))
	if rows == nil || rows.Len() > memory.Padded(max(k*width, 1)) {
		out := c.result(k * width)
		c.copy(out, 0, rows, 0, k*width)
		rows = out
	} else {
		c.promote(rows)
	}
	return c.column(memory.Parts{Type: kernels.IndexType(n), Len: k, Buffers: []*memory.Buffer{nil, rows}})
}

// promote makes a result of a scratch buffer.
func (c *call) promote(b *memory.Buffer) {
	for i, have := range c.scratch {
		if have == b {
			c.scratch = append(c.scratch[:i], c.scratch[i+1:]...)
			c.results = append(c.results, b)
			return
		}
	}
}
