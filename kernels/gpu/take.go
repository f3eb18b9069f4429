package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// take is the GPU's TakeFunc. Indices of 4 and 8 bytes without nulls are used
// as they are, and where values have a fixed width checked by the very pass
// that gathers; all others become row numbers in a pass of their own.
func (e *Engine) take(ctx context.Context, s device.Stream, col, indices *memory.Column, o kernels.TakeOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	layout := memory.LayoutOf(col.Type())
	onePass := layout == memory.LayoutBits || layout == memory.LayoutFixed || layout == memory.LayoutDictionary
	if takeDirect(col, indices) && (o.Trusted || onePass) {
		width := memory.Width(indices.Type())
		r := rows{vector: c.values(indices, width), width: width, n: indices.Len()}
		if !o.Trusted {
			r.bad = c.noPosition()
		}
		out := c.gatherRows(col, r)
		c.takeCheck(col, indices, r.bad)
		return c.give(out), c.err
	}
	r := c.takeRows(col, indices, o)
	return c.give(c.gatherRows(col, r)), c.err
}

// takeDirect reports whether indices are row numbers as they stand: none is
// null, and a negative one is past the column's end.
func takeDirect(col, indices *memory.Column) bool {
	switch indices.Type().ID() {
	case arrow.UINT32, arrow.UINT64, arrow.INT64:
		return !indices.MayHaveNulls()
	case arrow.INT32:
		return !indices.MayHaveNulls() && col.Len() <= 1<<31
	default:
		return false
	}
}

// takeRows makes row numbers of indices and, unless they are trusted, checks
// them, for which it waits for the stream.
func (c *call) takeRows(col, indices *memory.Column, o kernels.TakeOptions) rows {
	width := rowWidth(col.Len())
	out, bad := c.temp(int64(width)*indices.Len()), c.noPosition()
	c.launch(rowsModule("rows", width), "rows_number", c.strided(indices.Len()), int32(kindOf(indices.Type())),
		c.values(indices, memory.Width(indices.Type())), c.validity(indices), out, indices.Len(), col.Len(), bad)
	if !o.Trusted {
		c.takeCheck(col, indices, bad)
	}
	return rows{vector: vector{out, 0}, width: width, n: indices.Len(), nullable: indices.MayHaveNulls()}
}

// noPosition is a word for the least position, at first greater than all.
func (c *call) noPosition() *memory.Buffer {
	b := c.temp(8)
	c.fill(b, 0xff)
	return b
}

// takeCheck names the index that was found out of range first in order.
func (c *call) takeCheck(col, indices *memory.Column, bad *memory.Buffer) {
	if bad == nil || indices.Len() == 0 {
		return
	}
	at := c.readInt64(bad, 0)
	if at < 0 || !c.ok() {
		return
	}
	window, err := indices.Slice(at, 1)
	if err != nil {
		c.fail(err)
		return
	}
	host := c.rowToHost(c.own(window))
	if !c.ok() {
		return
	}
	defer host.Release()
	c.failf(device.ErrValue, "position %d: index %s of a column of %d rows", at, kernels.ScalarAt(host, 0), col.Len())
}

// rowToHost copies the one row of a column of fixed width that is not null to
// the host.
func (c *call) rowToHost(col *memory.Column) *memory.Column {
	width := int64(memory.Width(col.Type()))
	content := c.read(col.Buffer(1), col.Offset()*width, width)
	if !c.ok() {
		return nil
	}
	host, err := memory.NewColumn(memory.Parts{Type: col.Type(), Len: 1, Buffers: []*memory.Buffer{nil, memory.Wrap(content, nil)}})
	c.fail(err)
	return host
}
