package kernels

import (
	"context"
	"fmt"

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
	First  *memory.Column   // first row of each group, as in Groups; nil where there are Keys
	Keys   []*memory.Column // the keys of each group, by GroupOptions.Keys, as First would take them
	Values []*memory.Column // one for each Aggregate
}

// Len is the number of groups.
func (g *Grouped) Len() int64 {
	if g.First != nil {
		return g.First.Len()
	}
	return g.Keys[0].Len()
}

// Release drops the references to the columns.
func (g *Grouped) Release() {
	if g != nil {
		g.First.Release()
		for _, k := range g.Keys {
			k.Release()
		}
		for _, v := range g.Values {
			v.Release()
		}
	}
}

// GroupByFunc groups and aggregates in one pass, without a group number for
// every row. It equals Group followed by Aggregate of each.
type GroupByFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []Aggregate, o GroupOptions) (*Grouped, error)

// GroupBy groups by keys, as Group does, and gives each aggregate's value for each
// group, as Aggregate does; groups are in the order of Group. The values of the
// aggregates have as many rows as the keys (ErrMismatch), and types that
// AggregateType allows (ErrUnsupported).
func (b *Backend) GroupBy(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []Aggregate, o GroupOptions) (g *Grouped, err error) {
	const call = "group_by"
	defer b.guard(call, &err)
	have, types := b.Set.GroupBy.Func != nil, b.Set.GroupBy.Types
	var values []*memory.Column
	for _, a := range aggs {
		values = append(values, a.Values)
	}
	if err := b.checkKeys(ctx, s, call, have, types, keys, values...); err != nil {
		return nil, err
	}
	for i, a := range aggs {
		if err := b.checkAggregate(call, a.Op, a.Values, keys[0].Len(), a.Options); err != nil {
			return nil, fmt.Errorf("aggregate %d: %w", i, err)
		}
	}
	return b.Set.GroupBy.Func(ctx, s, keys, aggs, o)
}
