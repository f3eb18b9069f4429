package table

import (
	"fmt"

	"github.com/volley-go/volley/kernels"
)

// Grouping is a query with the keys of its groups: continue with Agg.
type Grouping struct {
	query   *Query
	keys    []named
	options kernels.GroupOptions
	err     error
}

// GroupBy makes groups of the rows whose keys are equal. Keys are names of
// columns or expressions. A null is a key like others, NaNs are equal, and
// groups come in order of first appearance.
func (q *Query) GroupBy(keys ...any) *Grouping {
	g := &Grouping{query: q}
	for _, k := range keys {
		e, err := columnOrExpr(k)
		if err != nil && g.err == nil {
			g.err = fmt.Errorf("group by: %w", err)
		} else if err == nil {
			g.keys = append(g.keys, named{nameOf(e), e})
		}
	}
	return g
}

// DropNullKeys leaves out rows with a null in any key.
func (g *Grouping) DropNullKeys() *Grouping {
	next := *g
	next.options.DropNullKeys = true
	return &next
}

// AnyOrder allows groups in whatever order is fastest.
func (g *Grouping) AnyOrder() *Grouping {
	next := *g
	next.options.AnyOrder = true
	return &next
}

// Agg gives a row for each group: the keys and then the aggregates. Without
// keys there is one row, also of no rows.
func (g *Grouping) Agg(aggregates ...Aggregate) *Query {
	err := g.err
	for _, a := range aggregates {
		if err == nil && a.err != nil {
			err = a.err
		}
	}
	return g.query.then(&groupNode{in: g.query.plan, keys: g.keys, aggs: aggregates, options: g.options}, err)
}

// Agg aggregates all rows to one.
func (q *Query) Agg(aggregates ...Aggregate) *Query { return q.GroupBy().Agg(aggregates...) }
