package gpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// groupBy is the GPU's GroupByFunc.
func (e *Engine) groupBy(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []kernels.Aggregate, o kernels.GroupOptions) (_ *kernels.Grouped, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	g := c.groupKeys(keys, o, len(aggs) > 0)
	if !c.ok() {
		return nil, c.err
	}
	out := &kernels.Grouped{First: g.first}
	if len(aggs) > 0 {
		ids := c.groupIDs(g)
		if !c.ok() {
			return nil, c.err
		}
		a := c.aggregator(ids, g.n)
		for i, agg := range aggs {
			col := a.column(agg)
			if over := (*kernels.OverflowError)(nil); errors.As(c.err, &over) {
				over.At = i
			}
			if !c.ok() {
				return nil, fmt.Errorf("aggregate %d: %w", i, c.err)
			}
			out.Values = append(out.Values, col)
		}
	}
	c.give(out.First)
	for _, col := range out.Values {
		c.give(col)
	}
	return out, nil
}
