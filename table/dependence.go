package table

import (
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// dependence is what may tell that some keys of groups depend on others. Columns have numbers: those
// that are equal in every row, as the rows come from one, have one.
type dependence struct {
	columns int
	rules   []determines
	keys    []int   // columns: the keys
	likely  []named // the keys that are thought to tell groups apart
}

// determines says that rows that are equal in some columns are equal in others, too, if proof
// holds; nil is no condition.
type determines struct {
	from, to []int
	proof    proof
}

// proof is what must be seen in the data.
type proof interface {
	likely(e *estimates) bool
	holds(r *runner) bool
}

// depend finds groups of which some keys may depend on others: those of a row of the right side of a
// join, or of a table, on a key that no two rows of it have in common. What is thought
// likely here is proven as the query runs: see told.
func (o *optimiser) depend(n node) node {
	if o.off[ruleDependence] {
		return n
	}
	n = replaceTied(n, o.depend)
	g, ok := n.(*groupNode)
	if !ok || len(g.keys) < 2 || g.options.DropNullKeys {
		return n
	}
	d := &dependence{}
	d.keys = d.computed(g.in, g.keys)
	told := d.told(func(p proof) bool { return p.likely(o.guess) })
	if len(told) == len(g.keys) {
		return n
	}
	for _, k := range told {
		d.likely = append(d.likely, g.keys[k])
	}
	out := *g
	out.depends = d
	return &out
}

// told are the keys that tell groups apart: in place of all those from which the others
// follow, as far as it is proven.
func (n *groupNode) told(r *runner) []int {
	if n.depends == nil {
		all := make([]int, len(n.keys))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return n.depends.told(func(p proof) bool { return p.holds(r) })
}

// told leaves out keys that follow from those that stay, the last first. One stays.
func (d *dependence) told(holds func(proof) bool) []int {
	known := map[proof]bool{}
	proven := func(p proof) bool {
		ok, asked := known[p]
		if !asked {
			ok = p == nil || holds(p)
			known[p] = ok
		}
		return ok
	}
	var stay []int
	for i := range d.keys {
		stay = append(stay, i)
	}
	for i := len(d.keys) - 1; i >= 0 && len(stay) > 1; i-- {
		without := slices.DeleteFunc(slices.Clone(stay), func(k int) bool { return k == i })
		if d.follows(without, d.keys[i], proven) {
			stay = without
		}
	}
	return stay
}

// follows reports whether a column follows from keys.
func (d *dependence) follows(keys []int, column int, proven func(proof) bool) bool {
	have := make([]bool, d.columns)
	for _, k := range keys {
		have[d.keys[k]] = true
	}
	missing := func(c int) bool { return !have[c] }
	for more := true; more && !have[column]; {
		more = false
		for _, r := range d.rules {
			if slices.ContainsFunc(r.from, missing) || !slices.ContainsFunc(r.to, missing) || !proven(r.proof) {
				continue
			}
			for _, c := range r.to {
				have[c] = true
			}
			more = true
		}
	}
	return have[column]
}

func (d *dependence) column() int {
	d.columns++
	return d.columns - 1
}

// fresh are columns of which nothing is known.
func (d *dependence) fresh(s *arrow.Schema) map[string]int {
	of := make(map[string]int, s.NumFields())
	for _, f := range s.Fields() {
		of[f.Name] = d.column()
	}
	return of
}

// of are the columns of a node, by name.
func (d *dependence) of(n node) map[string]int {
	switch n := n.(type) {
	case *filterNode, *limitNode, *sortNode, *distinctNode:
		return d.of(n.inputs()[0])
	case *projectNode:
		return byName(n.items, d.computed(n.in, n.items))
	case *groupNode:
		return d.ofGroups(n)
	case *joinNode:
		return d.ofJoin(n)
	case *tableNode:
		return d.ofTable(n)
	case *sharedNode:
		if n.of.final != nil {
			return d.of(n.of.final)
		}
	}
	return d.fresh(n.schema())
}

func byName(items []named, columns []int) map[string]int {
	of := make(map[string]int, len(items))
	for i, it := range items {
		of[it.name] = columns[i]
	}
	return of
}

// computed are the columns of expressions over a node, which follow from those that they read: not from
// floats, as 0 equals -0, and 1/0 is not 1/-0.
func (d *dependence) computed(n node, items []named) []int {
	in, all := d.of(n), make([]int, len(items))
	for i, it := range items {
		e := it.e
		for e.Kind() == expr.KindAlias {
			e = e.Args()[0]
		}
		if e.Kind() == expr.KindColumn {
			all[i] = in[e.Name()]
			continue
		}
		all[i] = d.column()
		var from []int
		same := true
		for _, name := range expr.Columns(e) {
			from = append(from, in[name])
			same = same && identical(typeOf(n, name))
		}
		if same {
			d.rules = append(d.rules, determines{from, all[i : i+1], nil})
		}
	}
	return all
}

// identical reports whether equal values of a type are the same to the last bit: not 0 and -0.
func identical(t arrow.DataType) bool {
	if dict, ok := t.(*arrow.DictionaryType); ok {
		t = dict.ValueType
	}
	return t != nil && kernels.KeyTypes.Has(t.ID()) && !kernels.FloatTypes.Has(t.ID())
}

// ofGroups: there is one row for each combination of keys.
func (d *dependence) ofGroups(n *groupNode) map[string]int {
	keys := d.computed(n.in, n.keys)
	of := byName(n.keys, keys)
	var made []int
	for _, a := range n.aggs {
		of[a.name] = d.column()
		made = append(made, of[a.name])
	}
	if len(keys) > 0 {
		d.rules = append(d.rules, determines{keys, made, nil})
	}
	return of
}

// ofJoin: a left row has one right row, or none, where no key of the right side comes twice. Right
// columns of a left join are others than those of the right side: they may be null. Of right
// and full joins nothing is known.
func (d *dependence) ofJoin(n *joinNode) map[string]int {
	if n.kind == Right || n.kind == Full {
		return d.fresh(n.out)
	}
	left, right := d.of(n.left), map[string]int{}
	switch {
	case n.kind == Left:
		right = d.fresh(n.right.schema())
	case !n.kind.leftOnly():
		right = d.of(n.right)
	}
	of := make(map[string]int, len(n.outputs))
	for _, o := range n.outputs {
		if o.onLeft() {
			of[o.name] = left[o.left]
		} else {
			of[o.name] = right[o.right]
		}
	}
	if n.kind.leftOnly() || n.kind == Cross {
		return of
	}
	var keys, all []int
	for i, k := range n.keys {
		t := n.keyTypes[i]
		if !identical(t) {
			return of
		}
		l := left[k.left]
		keys = append(keys, l)
		if n.kind == Inner && sameType(typeOf(n.left, k.left), t) && sameType(typeOf(n.right, k.right), t) {
			r := right[k.right]
			d.rules = append(d.rules, determines{[]int{l}, []int{r}, nil}, determines{[]int{r}, []int{l}, nil})
		}
	}
	for _, f := range n.right.schema().Fields() {
		all = append(all, right[f.Name])
	}
	if n.where == nil && !n.nullsEqual {
		d.rules = append(d.rules, determines{keys, all, uniqueRight{n}})
	}
	return of
}

// ofTable: a column of whole numbers that rise tells rows apart.
func (d *dependence) ofTable(n *tableNode) map[string]int {
	of := d.fresh(n.out)
	var all []int
	for _, f := range n.out.Fields() {
		all = append(all, of[f.Name])
	}
	for i, f := range n.out.Fields() {
		if rises(f.Type) {
			d.rules = append(d.rules, determines{all[i : i+1], all, risingColumn{n.table, f.Name}})
		}
	}
	return of
}

// uniqueRight is that no key of the right side of a join comes twice, which is seen when it is
// built.
type uniqueRight struct{ join *joinNode }

func (p uniqueRight) likely(e *estimates) bool {
	if len(p.join.keys) > 1 {
		return true
	}
	c := e.column(p.join.right, p.join.keys[0].right)
	return c == nil || c.Unique()
}

func (p uniqueRight) holds(r *runner) bool { return r.unique.get(p.join) }

// risingColumn is that each value of a column of a table is greater than the one before it, which
// is looked at anew in each run: its memory may be somebody's who changes it.
type risingColumn struct {
	table *Table
	name  string
}

func (p risingColumn) likely(*estimates) bool {
	at := p.table.schema.FieldIndices(p.name)
	if len(at) != 1 {
		return false
	}
	c := p.table.statsOf(at[0])
	return c != nil && c.Sorted && c.Unique()
}

func (p risingColumn) holds(*runner) bool {
	last, some := int64(0), false
	for _, b := range p.table.chunks {
		c := b.ColumnNamed(p.name)
		if c == nil || !canRise(c) {
			return false
		}
		if c.Len() == 0 {
			continue
		}
		if !columnRises(c, &last, some) {
			return false
		}
		some = true
	}
	return true
}

// canRise reports whether the values of a column may be looked at one by one.
func canRise(c *memory.Column) bool {
	return c.Place().HostAccessible() && c.NullCount() == 0 && rises(c.Type())
}

// columnRises reports whether each value is greater than the one before, the first than *last if
// there is such a value; the last one is *last then.
func columnRises(c *memory.Column, last *int64, some bool) bool {
	if memory.Width(c.Type()) == 4 {
		return allRise(memory.Values[int32](c)[:c.Len()], last, some)
	}
	return allRise(memory.Values[int64](c)[:c.Len()], last, some)
}

// rises reports whether a column of a type may be looked at for that.
func rises(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT32, arrow.INT64, arrow.DATE32, arrow.TIMESTAMP:
		return true
	}
	return false
}

// allRise reports whether values rise, from above *last on if there is such a value.
func allRise[T int32 | int64](values []T, last *int64, some bool) bool {
	if some && int64(values[0]) <= *last {
		return false
	}
	for i := 1; i < len(values); i++ {
		if values[i] <= values[i-1] {
			return false
		}
	}
	*last = int64(values[len(values)-1])
	return true
}

// uniqueSides are the joins of a run of which no key of the right side comes twice.
type uniqueSides struct {
	lock sync.Mutex
	of   map[*joinNode]bool
}

func (s *uniqueSides) put(n *joinNode, unique bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of == nil {
		s.of = map[*joinNode]bool{}
	}
	s.of[n] = unique
}

func (s *uniqueSides) get(n *joinNode) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.of[n]
}
