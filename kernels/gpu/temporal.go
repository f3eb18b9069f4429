package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// temporal is the GPU's TemporalFunc.
func (e *Engine) temporal(ctx context.Context, s device.Stream, f kernels.TemporalField, col *memory.Column) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	t, err := kernels.TemporalType(f, col.Type())
	if err != nil {
		return nil, err
	}
	n := col.Len()
	out := c.result(8 * n)
	args := append([]any{int32(f), int32(kindOf(col.Type())), c.data(col), perDay(col.Type())}, c.zone(col.Type())...)
	c.launch("temporal", "temporal_field", c.strided(n), append(args, out, n)...)
	return c.give(c.fixedColumn(t, out, n, col)), c.err
}

// What temporal_cast of temporal.cl takes of a value.
const (
	temporalUnits int32 = iota
	temporalDay
	temporalClock
)

// castTemporal changes units, and takes the day or the time of day.
func (c *call) castTemporal(col *memory.Column, to arrow.DataType, out *memory.Buffer, found finding) {
	from, way := col.Type(), temporalUnits
	unit, target := perDay(from), perDay(to)
	zone := []any{null(), int32(0), int64(0)}
	have := unit
	if from.ID() == arrow.TIMESTAMP && to.ID() != arrow.TIMESTAMP {
		zone, way = c.zone(from), temporalClock
		if to.ID() == arrow.DATE32 || to.ID() == arrow.DATE64 {
			way, have = temporalDay, 1
		}
	}
	args := append([]any{way, int32(kindOf(from)), c.data(col), c.validity(col), unit}, zone...)
	args = append(args, max(1, have/target), max(1, target/have), int32(kindOf(to)), out, col.Len())
	c.launch("temporal", "temporal_cast", c.strided(col.Len()), append(args, found.args()...)...)
}
