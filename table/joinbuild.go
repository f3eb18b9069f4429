package table

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
)

// reorderChain puts the joins of a chain in the cheapest order, of those that give the rows
// as written where somebody can see it.
func (o *optimiser) reorderChain(n node, seen bool) (node, bool) {
	c, result, ok := o.chainOf(n)
	if !ok || o.off[ruleJoinOrder] || !guessable(n) {
		return o.reorderParts(n, seen)
	}
	seen = seen && !c.free
	find := newOrdering(c, seen)
	all, ok := find.find()
	if !ok || find.even() || find.best[all].cost > worthIt*find.written() {
		return o.reorderParts(n, seen)
	}
	changed := false
	for i, r := range c.rels {
		in, other := o.reorder(r.n, seen && r.join == nil)
		o.guess.known[in] = o.guess.rows(r.n)
		c.rels[i].n = in
		changed = changed || other && r.join == nil
	}
	c.nameAll(fieldNames(n.schema()), result)
	b := &chainBuilder{c: c, order: find, anyOrder: !seen, placed: make([]bool, len(c.conds))}
	whole := b.build(all)
	return b.result(whole, n.schema(), result), changed || find.moved(all)
}

// reorderParts keeps the joins of a chain as they are, and goes on below them.
func (o *optimiser) reorderParts(n node, seen bool) (node, bool) {
	switch n := n.(type) {
	case *joinNode:
		if n.reorders() {
			left, changed := o.reorderParts(n.left, seen)
			right, other := o.reorder(n.right, seen && !n.kind.leftOnly())
			out := n.withInputs([]node{left, right})
			return out, changed || other && !n.kind.leftOnly()
		}
	case *filterNode, *projectNode:
		if _, ok := chained(n); ok {
			in, changed := o.reorderParts(n.inputs()[0], seen)
			return n.withInputs([]node{in}), changed
		}
	}
	return o.reorder(n, seen)
}

// chainBuilder makes nodes of the trees that an ordering found.
type chainBuilder struct {
	c        *chain
	order    *ordering
	anyOrder bool
	placed   []bool // conditions
}

// part is a joined part of a chain: which name below each column has.
type chainPart struct {
	n    node
	name map[int]string
}

func (b *chainBuilder) build(set uint32) chainPart {
	var p chainPart
	if bits.OnesCount32(set) == 1 {
		p = b.relation(bits.TrailingZeros32(set))
	} else {
		t := b.order.best[set]
		left := b.build(t.left)
		if r := b.order.rel(t.right); bits.OnesCount32(t.right) == 1 && r.join != nil {
			p = b.semi(left, r)
		} else {
			p = b.inner(left, b.build(t.right), t)
		}
	}
	p.n = b.filtered(p, set)
	b.c.guess.known[p.n] = b.order.rowsOf(set)
	return p
}

func (b *chainBuilder) relation(i int) chainPart {
	p := chainPart{n: b.c.rels[i].n, name: map[int]string{}}
	for k, col := range b.c.columns {
		if col.rel == i {
			p.name[k] = col.name
		}
	}
	return p
}

// filtered is a part below the conditions that read its columns and were not met before.
func (b *chainBuilder) filtered(p chainPart, set uint32) node {
	var conds []*expr.Expr
	for i, k := range b.c.conds {
		if b.placed[i] || k.needs&^set != 0 {
			continue
		}
		b.placed[i] = true
		conds = append(conds, expr.Rewrite(k.e, func(name string) *expr.Expr {
			for at, have := range p.name {
				if b.c.columns[at].all == name {
					return expr.Col(have)
				}
			}
			return nil
		}))
	}
	return keep(p.n, conds)
}

func (b *chainBuilder) inner(left, right chainPart, t joinTree) chainPart {
	n := &joinNode{left: left.n, right: right.n, kind: Inner, joinOptions: joinOptions{anyOrder: b.anyOrder}}
	for _, l := range b.order.links(t.left, t.right) {
		n.keys = append(n.keys, keyPair{left.name[l[0]], right.name[l[1]]})
		n.keyTypes = append(n.keyTypes, b.keyType(l))
	}
	var fields []arrow.Field
	name := map[int]string{}
	for at, col := range b.c.columns {
		o := joinOutput{name: col.all, from: fromLeft}
		var ok bool
		if o.left, ok = left.name[at]; !ok {
			o.from = fromRight
			if o.right, ok = right.name[at]; !ok {
				continue
			}
		}
		f := col.field
		f.Name, name[at] = col.all, col.all
		n.outputs, fields = append(n.outputs, o), append(fields, f)
	}
	n.out = arrow.NewSchema(fields, nil)
	return chainPart{n, name}
}

// keyType is what two columns are compared in.
func (b *chainBuilder) keyType(l [2]int) arrow.DataType {
	for _, e := range b.c.edges {
		if e.a == l[0] && e.b == l[1] || e.a == l[1] && e.b == l[0] {
			return e.typ
		}
	}
	return b.c.columns[l[0]].field.Type // of one class, which is of one type
}

func (b *chainBuilder) semi(left chainPart, r *relation) chainPart {
	n := *r.join
	n.left, n.right, n.keys, n.outputs, n.scope = left.n, r.n, nil, nil, nil
	for i, k := range r.join.keys {
		n.keys = append(n.keys, keyPair{left.name[r.left[i]], k.right})
	}
	for i, s := range r.join.scope {
		if at, ok := r.scope[i]; ok {
			s.left = left.name[at]
		}
		n.scope = append(n.scope, s)
	}
	n.anyOrder = n.anyOrder || b.anyOrder
	var fields []arrow.Field
	name := map[int]string{}
	for at, col := range b.c.columns {
		have, ok := left.name[at]
		if !ok {
			continue
		}
		f := col.field
		f.Name, name[at] = col.all, col.all
		n.outputs, fields = append(n.outputs, leftOutput(col.all, have)), append(fields, f)
	}
	n.out = arrow.NewSchema(fields, nil)
	return chainPart{&n, name}
}

// result is the chain with the columns that it had as written.
func (b *chainBuilder) result(p chainPart, want *arrow.Schema, result map[string]int) node {
	out := &projectNode{in: p.n, out: want}
	for _, f := range want.Fields() {
		out.items = append(out.items, named{f.Name, expr.Col(p.name[result[f.Name]])})
	}
	b.c.guess.known[out] = b.c.guess.rows(p.n)
	return out.reduced()
}

func sameType(a, b arrow.DataType) bool { return arrow.TypeEqual(a, b) }
