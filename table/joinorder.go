package table

import (
	"math"
	"math/bits"

	"github.com/volley-go/volley/flow/stats"
)

// orderedMost is how many relations all orders are tried of; of more, two parts at a
// time are joined that give the fewest rows.
const orderedMost = 9

// What a row costs in a join, beside that of one that is looked up in a small table.
const (
	costBuild  = 3.0
	costOutput = 1.0
	costProbe  = 1.0
	costFar    = 1.5 // more where the table does not fit the caches
	farRows    = 1 << 18
	worthIt    = 0.9 // of the cost as written, which another order must stay below
)

// ordering finds the cheapest tree of joins over a chain.
type ordering struct {
	c       *chain
	kept    bool // rows must come as they were written
	classes [][]int
	domains map[int]float64
	rows    map[uint32]float64
	best    map[uint32]joinTree
}

// joinTree is how the relations of a set are joined: left rows stream past those of the
// right side, which are built. A set of one relation has no sides.
type joinTree struct {
	left, right uint32
	cost        float64
}

func newOrdering(c *chain, kept bool) *ordering {
	o := &ordering{c: c, kept: kept, domains: map[int]float64{}, rows: map[uint32]float64{}, best: map[uint32]joinTree{}}
	o.classify()
	return o
}

// classify puts columns together that are equal in every row of the chain, no two of one
// relation. What does not fit, or is compared in another type than its own, stays a pair.
func (o *ordering) classify() {
	of := map[int]int{} // column to class
	class := func(column int) int {
		if at, ok := of[column]; ok {
			return at
		}
		of[column] = len(o.classes)
		o.classes = append(o.classes, []int{column})
		return of[column]
	}
	for _, e := range o.c.edges {
		if !typeIs(o.c, e.a, e) || !typeIs(o.c, e.b, e) {
			o.classes = append(o.classes, []int{e.a, e.b})
			continue
		}
		a, b := class(e.a), class(e.b)
		if a == b {
			continue
		}
		if o.masks(a)&o.masks(b) != 0 {
			o.classes = append(o.classes, []int{e.a, e.b})
			continue
		}
		for _, k := range o.classes[b] {
			of[k] = a
		}
		o.classes[a], o.classes[b] = append(o.classes[a], o.classes[b]...), nil
	}
}

// masks are the relations of a class.
func (o *ordering) masks(class int) (set uint32) {
	for _, k := range o.classes[class] {
		set |= o.c.maskOf(k)
	}
	return set
}

func typeIs(c *chain, column int, e edge) bool {
	return sameType(c.columns[column].field.Type, e.typ)
}

// links are the classes that have columns on both sides, with one of each.
func (o *ordering) links(left, right uint32) (pairs [][2]int) {
	for _, class := range o.classes {
		l, r := -1, -1
		for _, k := range class {
			switch m := o.c.maskOf(k); {
			case m&left != 0 && l < 0:
				l = k
			case m&right != 0 && r < 0:
				r = k
			}
		}
		if l >= 0 && r >= 0 {
			pairs = append(pairs, [2]int{l, r})
		}
	}
	return pairs
}

// may reports whether two sets can be joined: inner ones that have an equal column, or all
// that a semi join needs with it.
func (o *ordering) may(left, right uint32) bool {
	if bits.OnesCount32(right) == 1 {
		if r := o.rel(right); r.join != nil {
			return r.needs&^left == 0
		}
	}
	if !o.whole(right) || !o.whole(left) {
		return false
	}
	if o.kept && !o.before(left, right) {
		return false
	}
	return len(o.links(left, right)) > 0
}

// whole reports whether a set has with each semi join what it needs, and something beside.
func (o *ordering) whole(set uint32) bool {
	some := false
	for i, r := range o.c.rels {
		if set>>i&1 == 0 {
			continue
		}
		if r.join == nil {
			some = true
		} else if r.needs&^set != 0 {
			return false
		}
	}
	return some
}

// before reports whether all rows of left come before those of right in the order as
// written: relations of semi joins have no place in it.
func (o *ordering) before(left, right uint32) bool {
	return bits.Len32(left&o.inner()) <= bits.TrailingZeros32(right&o.inner())
}

func (o *ordering) inner() (set uint32) {
	for i, r := range o.c.rels {
		if r.join == nil {
			set |= 1 << i
		}
	}
	return set
}

func (o *ordering) rel(set uint32) *relation { return &o.c.rels[bits.TrailingZeros32(set)] }

// domain is how many values a column may have.
func (o *ordering) domain(column int) float64 {
	d, ok := o.domains[column]
	if !ok {
		k := o.c.columns[column]
		d = o.c.guess.domain(o.c.rels[k.rel].n, k.name)
		o.domains[column] = d
	}
	return d
}

// rowsOf is how many rows the relations of a set give together.
func (o *ordering) rowsOf(set uint32) float64 {
	if r, ok := o.rows[set]; ok {
		return r
	}
	rows, done := 1.0, uint32(0)
	for i, r := range o.c.rels {
		one := uint32(1) << i
		if set&one == 0 {
			continue
		}
		if r.join != nil {
			rows *= r.share
			continue
		}
		rows *= o.c.guess.rows(r.n)
		if done != 0 {
			rows *= o.matches(done, one)
		}
		done |= one
	}
	for _, k := range o.c.conds {
		if k.needs&^set == 0 && bits.OnesCount32(k.needs) > 0 {
			rows *= k.share
		}
	}
	o.rows[set] = rows
	return rows
}

// matches is the share of pairs of rows of a set and another relation that match.
func (o *ordering) matches(set, one uint32) float64 {
	links := o.links(set, one)
	if len(links) == 0 {
		return 1
	}
	a, b := stats.Side{Distinct: 1}, stats.Side{Distinct: 1}
	from := uint32(0)
	for _, l := range links {
		a.Distinct *= o.domain(l[0])
		b.Distinct *= o.domain(l[1])
		from |= o.c.maskOf(l[0])
	}
	if len(links) > 1 {
		for i := range o.c.rels {
			if m := uint32(1) << i; m&set != 0 && o.holds(links, set, m) {
				from = m
			}
		}
		a = o.atMost(a, from)
		b = o.atMost(b, one)
	}
	return stats.Matches(a, b)
}

// holds reports whether one relation of a set has a column of each class that links.
func (o *ordering) holds(links [][2]int, set, one uint32) bool {
	for _, l := range links {
		found := false
		for _, class := range o.classes {
			has, is := false, false
			for _, k := range class {
				is = is || k == l[0]
				has = has || o.c.maskOf(k) == one
			}
			found = found || has && is
		}
		if !found {
			return false
		}
	}
	return true
}

// atMost cuts the combinations of the keys of one relation to its rows.
func (o *ordering) atMost(s stats.Side, from uint32) stats.Side {
	if bits.OnesCount32(from) != 1 {
		return s
	}
	if base := o.c.guess.domainRows(o.rel(from).n); s.Distinct > base {
		return stats.Side{Distinct: base, AtMost: true}
	}
	return s
}

// costOf is what joining two sets costs, without what making them does.
func (o *ordering) costOf(left, right uint32) float64 {
	l, r := o.rowsOf(left), 0.0
	if rel := o.rel(right); rel.join != nil {
		r = o.c.guess.rows(rel.n)
	} else {
		r = o.rowsOf(right)
	}
	if rel := o.rel(right); rel.join != nil && r > reduceTimes*l && r > o.c.guess.morsel {
		return min(costProbe*r+2*costBuild*l, costProbe*l+costBuild*r) + costOutput*o.rowsOf(left|right) // see reduce
	}
	probe := costProbe
	if r > farRows {
		probe += costFar
	}
	if o.rel(right).join == nil {
		probe *= float64(max(1, len(o.links(left, right)))) // several keys are hashed
	}
	return probe*l + costBuild*r + costOutput*o.rowsOf(left|right)
}

// tree is the best tree of a set; ok is false where there is none.
func (o *ordering) tree(set uint32) (t joinTree, ok bool) {
	if bits.OnesCount32(set) == 1 {
		return joinTree{}, o.rel(set).join == nil
	}
	if t, ok := o.best[set]; ok {
		return t, !math.IsInf(t.cost, 1)
	}
	t.cost = math.Inf(1)
	for left := (set - 1) & set; left != 0; left = (left - 1) & set {
		right := set &^ left
		if !o.may(left, right) {
			continue
		}
		l, ok := o.tree(left)
		if !ok {
			continue
		}
		var r joinTree
		if o.rel(right).join == nil || bits.OnesCount32(right) > 1 {
			if r, ok = o.tree(right); !ok {
				continue
			}
		}
		if cost := l.cost + r.cost + o.costOf(left, right); cost < t.cost {
			t = joinTree{left, right, cost}
		}
	}
	o.best[set] = t
	return t, !math.IsInf(t.cost, 1)
}

// greedy joins the two parts that give the fewest rows, until all are joined.
func (o *ordering) greedy() bool {
	var parts []uint32
	for i := range o.c.rels {
		parts = append(parts, 1<<i)
	}
	for len(parts) > 1 {
		least, l, r := math.Inf(1), -1, -1
		for i, a := range parts {
			for k, b := range parts {
				if i == k || !o.may(a, b) {
					continue
				}
				if cost := o.costOf(a, b) + 4*o.rowsOf(a|b); cost < least {
					least, l, r = cost, i, k
				}
			}
		}
		if l < 0 {
			return false
		}
		set := parts[l] | parts[r]
		o.best[set] = joinTree{parts[l], parts[r], o.best[parts[l]].cost + o.best[parts[r]].cost + o.costOf(parts[l], parts[r])}
		parts[l] = set
		parts = append(parts[:r], parts[r+1:]...)
	}
	return true
}

// find is the set of all relations, with the trees that are best.
func (o *ordering) find() (all uint32, ok bool) {
	all = 1<<len(o.c.rels) - 1
	if len(o.c.rels) > orderedMost {
		return all, o.greedy()
	}
	_, ok = o.tree(all)
	return all, ok
}

// even reports whether there is one join of two large sides, which costs the same whichever is
// built.
func (o *ordering) even() bool {
	if len(o.c.rels) != 2 || o.c.rels[1].join != nil {
		return false
	}
	return min(o.rowsOf(1), o.rowsOf(2)) >= wholeLeast/4
}

// written is what the joins cost in the order as written.
func (o *ordering) written() float64 {
	cost, done := 0.0, uint32(1)
	for i := 1; i < len(o.c.rels); i++ {
		cost += o.costOf(done, 1<<i)
		done |= 1 << i
	}
	return cost
}

// moved reports whether rows of a tree may come in another order than as written.
func (o *ordering) moved(set uint32) bool {
	if bits.OnesCount32(set) == 1 {
		return false
	}
	t := o.best[set]
	if bits.OnesCount32(t.right) == 1 && o.rel(t.right).join != nil {
		return o.moved(t.left)
	}
	return !o.before(t.left, t.right) || o.moved(t.left) || o.moved(t.right)
}
