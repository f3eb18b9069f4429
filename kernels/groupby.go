package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Aggregate is one aggregation of GroupBy.
type Aggregate struct {
	Op      Aggregation
	Values  *memory.Column // nil for CountAll
	Options AggregateOptions
}

// Grouped is the result of GroupBy: a row a group.
type Grouped struct {
	First  *memory.Column   // first row of each group, as in Groups
	Values []*memory.Column // one for each Aggregate
}

// Release drops the references to the columns.
func (g *Grouped) Release() {
	if g != nil {
		g.First.Release()
		for _, v := range g.Values {
			v.Release()
		}
	}
}

// GroupByFunc groups and aggregates in one pass, without a group number for
// every row. It equals Group followed by Aggregate of each.
type GroupByFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []Aggregate, o GroupOptions) (*Grouped, error)
