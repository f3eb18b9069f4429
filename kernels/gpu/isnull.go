package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// isNull is the GPU's IsNullFunc.
func (e *Engine) isNull(ctx context.Context, s device.Stream, q kernels.NullTest, col *memory.Column) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := col.Len()
	out := c.result(bitBytes(n))
	args := append([]any{int32(q)}, c.nullable(col)...)
	c.launch("isnull", "is_null", groupsFor(n, 4096), append(args, out, n)...)
	return c.give(c.column(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: n, Buffers: []*memory.Buffer{nil, out}})), c.err
}

// nullable is readable for columns of any type: of nested ones only the
// validity is told.
func (c *call) nullable(col *memory.Column) []any {
	if kernels.NestedTypes.Has(col.Type().ID()) {
		return []any{int32(kindBool), vector{}, c.validity(col), int32(kindNull), vector{}, vector{}}
	}
	return c.readable(col)
}
