package table

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
)

// chain is inner, semi and anti joins that hang together, taken apart: relations, which
// are joined in any order that suits, and what rows of them must meet. Columns have one
// number each all over the chain, as names may come twice.
type chain struct {
	guess   *estimates
	rels    []relation
	columns []chainColumn
	edges   []edge
	conds   []chainCond
	streams bool
	free    bool // some join may give its rows in any order
}

// relation is one input of a chain. Those of semi and anti joins take rows away from
// what their keys are of.
type relation struct {
	n     node
	join  *joinNode   // of a semi or an anti join
	left  []int       // columns: its left keys
	scope map[int]int // columns that its condition reads of the left side: place in join.scope to column
	needs uint32      // relations whose columns left and scope are
	share float64     // of the rows that it lets through
	first int         // the number of its first column
}

type chainColumn struct {
	rel   int
	name  string // in the relation
	all   string // in joins
	named bool   // all is said
	field arrow.Field
}

// edge says that two columns are equal, compared in a type.
type edge struct {
	a, b int
	typ  arrow.DataType
}

type chainCond struct {
	e     *expr.Expr // over the columns' names in joins
	share float64
	needs uint32
}

// reorders reports whether a join can be part of a chain.
func (n *joinNode) reorders() bool {
	return n.kind == Inner && !n.nullsEqual && n.where == nil || n.kind.leftOnly()
}

// chainMost is how many relations of a chain are put in order.
const chainMost = 16

// chainOf takes a plan apart; ok is false where it is not worth it or cannot be done.
func (o *optimiser) chainOf(n node) (c *chain, result map[string]int, ok bool) {
	c = &chain{guess: o.guess}
	result, ok = c.add(n)
	return c, result, ok && len(c.rels) > 1 && len(c.rels) <= chainMost && !c.streams
}

// add takes n apart, and says which column of the chain each of its columns is.
func (c *chain) add(n node) (map[string]int, bool) {
	switch n := n.(type) {
	case *joinNode:
		if n.reorders() {
			return c.addJoin(n)
		}
	case *filterNode:
		if _, ok := chained(n.in); ok && !mayFail(n.predicate) {
			return c.addFilter(n)
		}
	case *projectNode:
		if _, ok := chained(n.in); ok {
			if to, ok := renames(n); ok {
				below, ok := c.add(n.in)
				out := map[string]int{}
				for name, from := range to {
					out[name] = below[from]
				}
				return out, ok
			}
		}
	}
	return c.addRelation(relation{n: n, share: 1}), true
}

// chained reports whether a node is a join of a chain below filters and renamings.
func chained(n node) (*joinNode, bool) {
	switch n := n.(type) {
	case *joinNode:
		return n, n.reorders()
	case *filterNode:
		if !mayFail(n.predicate) {
			return chained(n.in)
		}
	case *projectNode:
		if _, ok := renames(n); ok {
			return chained(n.in)
		}
	}
	return nil, false
}

// renames is from which column below each column of a projection is, where none is computed.
func renames(n *projectNode) (map[string]string, bool) {
	to := map[string]string{}
	for _, it := range n.items {
		e := it.e
		for e.Kind() == expr.KindAlias {
			e = e.Args()[0]
		}
		if e.Kind() != expr.KindColumn {
			return nil, false
		}
		to[it.name] = e.Name()
	}
	return to, true
}

func (c *chain) addRelation(r relation) map[string]int {
	r.first = len(c.columns)
	out := map[string]int{}
	for _, f := range r.n.schema().Fields() {
		out[f.Name] = len(c.columns)
		f.Nullable = true
		c.columns = append(c.columns, chainColumn{rel: len(c.rels), name: f.Name, field: f})
	}
	c.rels = append(c.rels, r)
	return out
}

func (c *chain) addJoin(n *joinNode) (map[string]int, bool) {
	left, ok := c.add(n.left)
	if !ok {
		return nil, false
	}
	c.streams = c.streams || n.streams
	if n.kind.leftOnly() {
		return c.addSemi(n, left), true
	}
	right, ok := c.add(n.right)
	if !ok {
		return nil, false
	}
	c.free = c.free || n.anyOrder
	for i, k := range n.keys {
		c.edges = append(c.edges, edge{left[k.left], right[k.right], n.keyTypes[i]})
	}
	out := map[string]int{}
	for _, o := range n.outputs {
		if o.onLeft() {
			out[o.name] = left[o.left]
		} else {
			out[o.name] = right[o.right]
		}
	}
	return out, true
}

func (c *chain) addSemi(n *joinNode, left map[string]int) map[string]int {
	r := relation{n: n.right, join: n, scope: map[int]int{}, share: c.guess.semiShare(n)}
	if n.kind == Anti {
		r.share = max(0.05, 1-r.share)
	}
	for _, k := range n.keys {
		r.left = append(r.left, left[k.left])
		r.needs |= c.maskOf(left[k.left])
	}
	for i, s := range n.scope {
		if s.onLeft() {
			r.scope[i] = left[s.left]
			r.needs |= c.maskOf(left[s.left])
		}
	}
	c.addRelation(r)
	out := map[string]int{}
	for _, o := range n.outputs {
		out[o.name] = left[o.left]
	}
	return out
}

func (c *chain) addFilter(n *filterNode) (map[string]int, bool) {
	below, ok := c.add(n.in)
	if !ok {
		return nil, false
	}
	for _, e := range expr.Conjuncts(n.predicate) {
		cond := chainCond{share: c.guess.share(n.in, e)}
		cond.e = expr.Rewrite(e, func(name string) *expr.Expr {
			at := below[name]
			cond.needs |= c.maskOf(at)
			return expr.Col(numbered(at))
		})
		c.conds = append(c.conds, cond)
	}
	return below, true
}

func (c *chain) maskOf(column int) uint32 { return 1 << c.columns[column].rel }

// numbered is how a condition names a column before names are given.
func numbered(column int) string { return fmt.Sprint(column) }

// nameAll gives each column a name that no other has in the joins of the chain: what
// it is called in the result, if it is there.
func (c *chain) nameAll(want []string, result map[string]int) {
	taken := names{}
	for _, name := range want {
		if k := &c.columns[result[name]]; !k.named {
			k.all, k.named = name, true
			taken[name] = true
		}
	}
	for i := range c.columns {
		k := &c.columns[i]
		if k.named || c.rels[k.rel].join != nil { // of a semi join nobody above sees
			continue
		}
		k.all = k.name
		for n := k.rel + 1; taken[k.all]; n += len(c.rels) {
			k.all = fmt.Sprintf("%s:%d", k.name, n)
		}
		taken[k.all], k.named = true, true
	}
	for i := range c.conds {
		c.conds[i].e = expr.Rewrite(c.conds[i].e, func(name string) *expr.Expr {
			var at int
			if _, err := fmt.Sscan(name, &at); err != nil || at >= len(c.columns) {
				return nil
			}
			return expr.Col(c.columns[at].all)
		})
	}
}
