package table

import (
	"context"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/stats"
	"github.com/volley-go/volley/memory"
)

// tableStats is what is known of the columns of a table, each looked at once, when a plan
// first asks for it.
type tableStats struct {
	lock    sync.Mutex
	columns map[int]*stats.Column // nil of one that cannot be looked at
}

// statsOf is what is known of a column, nil for nothing: it is guessed from then.
func (t *Table) statsOf(column int) *stats.Column {
	t.stats.lock.Lock()
	defer t.stats.lock.Unlock()
	if c, ok := t.stats.columns[column]; ok {
		return c
	}
	if t.stats.columns == nil {
		t.stats.columns = map[int]*stats.Column{}
	}
	var found *stats.Column
	if len(t.chunks) > 0 && t.backend.Device.Memory().Place().HostAccessible() {
		parts := make([]*memory.Column, len(t.chunks))
		for i, b := range t.chunks {
			parts[i] = b.Column(column)
		}
		if c, ok := stats.Of(parts); ok {
			found = &c
		}
	}
	t.stats.columns[column] = found
	return found
}

// statedBy is what a source states of its columns, nil where it states nothing. What cannot
// be read now is an error of the scan, not of the plan.
func statedBy(ctx context.Context, s Source, schema *arrow.Schema) map[string]*stats.Column {
	from, ok := s.(flow.Stated)
	if !ok {
		return nil
	}
	parts, err := from.Ranges(ctx)
	if err != nil || len(parts) == 0 {
		return nil
	}
	all := map[string]*stats.Column{}
	for _, f := range schema.Fields() {
		if c, ok := statedOf(f, parts); ok {
			all[f.Name] = &c
		}
	}
	return all
}

// repeatedShare is how often a value comes at least within a part where parts are thought to
// have the same values: else each has its own.
const repeatedShare = 4

// statedOf puts together what is stated of the parts of a column. Bounded columns of whole
// numbers have at most as many values as their range. Where it is not stated how many others
// have, the root of the rows lies between a flag's and a key's.
func statedOf(f arrow.Field, parts []map[string]expr.Range) (c stats.Column, ok bool) {
	c.Bounded, c.Min, c.Max = true, math.Inf(1), math.Inf(-1)
	most, all, known := 0.0, 0.0, true // values of a part, of all parts
	for _, p := range parts {
		r, ok := p[f.Name]
		if !ok {
			return c, false
		}
		c.Rows += r.Rows
		c.Nulls += max(0, r.Nulls)
		most, all = max(most, float64(r.Distinct)), all+float64(r.Distinct)
		known = known && (r.Distinct > 0 || r.Rows == 0)
		low, some := numberOf(r.Min)
		high, also := numberOf(r.Max)
		c.Bounded = c.Bounded && (some && also || r.Rows == 0)
		c.Min, c.Max = min(c.Min, low), max(c.Max, high)
	}
	c.Bounded = c.Bounded && c.Min <= c.Max
	c.Distinct = math.Sqrt(float64(c.Rows))
	if known && most > 0 {
		if c.Distinct = most; repeatedShare*all > float64(c.Rows) {
			c.Distinct = all
		}
	}
	if !c.Bounded {
		return c, true
	}
	c.Distinct = float64(c.Rows)
	span := c.Max - c.Min + 1
	if d, ok := f.Type.(*arrow.Decimal128Type); ok {
		span = (c.Max-c.Min)*math.Pow(10, float64(d.Scale)) + 1
	}
	if !arrow.IsFloating(f.Type.ID()) {
		c.Distinct = min(c.Distinct, span)
	}
	return c, true
}

// rowsStated is how many rows a scan states, -1 where it does not.
func (n *scanNode) rowsStated() float64 {
	if n.stated == nil {
		return -1
	}
	for _, c := range n.stated() {
		return float64(c.Rows)
	}
	return -1
}

// guessable reports whether it is known how many rows there are of all that lies below a
// node: what is not must not be moved about for it.
func guessable(n node) bool {
	switch n := n.(type) {
	case *scanNode:
		return n.rowsStated() >= 0
	case *sharedNode:
		return guessable(n.of.in)
	}
	for _, in := range n.inputs() {
		if !guessable(in) {
			return false
		}
	}
	return true
}
