package table

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/stats"
	"github.com/volley-go/volley/kernels"
)

// estimates guesses how many rows the nodes of a plan give. Nothing that a result
// depends on may rest on a guess.
type estimates struct {
	known  map[node]float64
	morsel float64 // rows of a morsel
}

func newEstimates() *estimates {
	e := &estimates{known: map[node]float64{}, morsel: exec.MorselRows}
	if rows, err := morselRows(); err == nil { // a run says what is wrong with it
		e.morsel = float64(rows)
	}
	return e
}

// unknownRows is what is guessed of a source that does not say how many rows it has.
const unknownRows = 1e6

// rows is how many rows a node gives.
func (e *estimates) rows(n node) float64 {
	if r, ok := e.known[n]; ok {
		return r
	}
	r := e.guess(n)
	e.known[n] = r
	return r
}

func (e *estimates) guess(n node) float64 {
	switch n := n.(type) {
	case *tableNode:
		return float64(n.table.rows)
	case *scanNode:
		r := n.rowsStated()
		if r < 0 {
			r = unknownRows
		}
		if n.limit > 0 {
			r = min(r, float64(n.limit))
		}
		return r
	case *filterNode:
		return e.rows(n.in) * e.share(n.in, n.predicate)
	case *sharedNode:
		return e.rows(n.of.in)
	case *limitNode:
		return min(max(0, e.rows(n.in)-float64(n.offset)), float64(n.n))
	case *sortNode:
		if n.limit >= 0 {
			return min(e.rows(n.in), float64(n.limit))
		}
		return e.rows(n.in)
	case *groupNode:
		if len(n.keys) == 0 {
			return 1
		}
		return e.combinations(n.in, exprsOf(n.keys))
	case *distinctNode:
		keys := make([]*expr.Expr, len(n.on))
		for i, name := range n.on {
			keys[i] = expr.Col(name)
		}
		return e.combinations(n.in, keys)
	case *unionNode:
		r := 0.0
		for _, in := range n.ins {
			r += e.rows(in)
		}
		return r
	case *joinNode:
		return e.joined(n)
	}
	if ins := n.inputs(); len(ins) > 0 {
		return e.rows(ins[0])
	}
	return unknownRows
}

// joined is how many rows a join gives.
func (e *estimates) joined(n *joinNode) float64 {
	left, right := e.rows(n.left), e.rows(n.right)
	if n.kind == Cross {
		return left * right
	}
	pairs := left * right * e.matches(n)
	switch n.kind {
	case Left:
		return max(left, pairs)
	case Right:
		return max(right, pairs)
	case Full:
		return max(left, right, pairs)
	case Semi:
		return left * e.semiShare(n)
	case Anti:
		return left * max(0.05, 1-e.semiShare(n))
	}
	return pairs
}

// matches is the share of pairs of rows whose keys are equal.
func (e *estimates) matches(n *joinNode) float64 {
	side := func(in node, of func(keyPair) string) stats.Side {
		s := stats.Side{Distinct: 1}
		for _, k := range n.keys {
			s.Distinct *= e.domain(in, of(k))
		}
		if base := e.domainRows(in); len(n.keys) > 1 && s.Distinct > base {
			s = stats.Side{Distinct: base, AtMost: true}
		}
		return s
	}
	return stats.Matches(side(n.left, func(k keyPair) string { return k.left }), side(n.right, func(k keyPair) string { return k.right }))
}

// domainRows is how many rows the table has that most rows of a node come from: as many
// as the largest below it.
func (e *estimates) domainRows(n node) float64 {
	if s, ok := n.(*sharedNode); ok {
		return e.domainRows(s.of.in)
	}
	r := 0.0
	for _, in := range n.inputs() {
		r = max(r, e.domainRows(in))
	}
	if len(n.inputs()) == 0 {
		return e.rows(n)
	}
	return r
}

// semiShare is the share of left rows that have a match: that of the left side's key values which
// the right side has.
func (e *estimates) semiShare(n *joinNode) float64 {
	all, have := 1.0, 1.0
	for _, k := range n.keys {
		all *= max(e.domain(n.left, k.left), e.domain(n.right, k.right))
		have *= e.distinct(n.right, k.right)
	}
	share := min(1, min(have, e.rows(n.right))/max(1, all))
	for _, c := range expr.Conjuncts(n.where) {
		if c.Kind() == expr.KindCall && c.Op() == expr.OpNe {
			share *= 0.9
		} else {
			share *= 0.5
		}
	}
	return share
}

// column traces a column to the table that it comes from.
func (e *estimates) column(n node, name string) *stats.Column {
	switch n := n.(type) {
	case *tableNode:
		if at := n.table.schema.FieldIndices(name); len(at) == 1 {
			return n.table.statsOf(at[0])
		}
	case *scanNode:
		if n.stated != nil {
			return n.stated()[name]
		}
	case *sharedNode:
		return e.column(n.of.in, name)
	case *projectNode:
		return e.named(n.in, n.items, name)
	case *groupNode:
		return e.named(n.in, n.keys, name)
	case *joinNode:
		for _, o := range n.outputs {
			if o.name == name && o.onLeft() {
				return e.column(n.left, o.left)
			}
			if o.name == name {
				return e.column(n.right, o.right)
			}
		}
	case *filterNode, *sortNode, *limitNode, *distinctNode:
		return e.column(n.inputs()[0], name)
	}
	return nil
}

func (e *estimates) named(in node, items []named, name string) *stats.Column {
	for _, it := range items {
		if it.name == name && it.e.Kind() == expr.KindColumn {
			return e.column(in, it.e.Name())
		}
		if it.name == name && it.e.Kind() == expr.KindAlias && it.e.Args()[0].Kind() == expr.KindColumn {
			return e.column(in, it.e.Args()[0].Name())
		}
	}
	return nil
}

// domain is how many values a column may have: those of the table that it comes
// from, before rows were taken away; of a computed one as many as rows.
func (e *estimates) domain(n node, name string) float64 {
	if c := e.column(n, name); c != nil {
		return max(1, c.Distinct)
	}
	return max(1, e.rows(n))
}

// distinct is how many values a column of a node has. A key of an inner or a semi join has no
// more than on the other side.
func (e *estimates) distinct(n node, name string) float64 {
	rows := e.rows(n)
	most := rows
	switch n := n.(type) {
	case *sharedNode:
		return e.distinct(n.of.in, name)
	case *joinNode:
		most = min(rows, e.joinedDistinct(n, name))
	}
	c := e.column(n, name)
	if c == nil {
		return max(1, most)
	}
	return max(1, min(most, stats.Kept(c.Distinct, float64(c.Rows), rows/max(1, float64(c.Rows)))))
}

func (e *estimates) joinedDistinct(n *joinNode, name string) float64 {
	for _, o := range n.outputs {
		if o.name != name || n.kind != Inner && n.kind != Semi {
			continue
		}
		most := math.Inf(1)
		for _, k := range n.keys {
			if o.onLeft() && o.left == k.left || !o.onLeft() && o.right == k.right {
				most = min(most, e.distinct(n.left, k.left), e.distinct(n.right, k.right))
			}
		}
		return most
	}
	return math.Inf(1)
}

// combinations is how many different rows some expressions give.
func (e *estimates) combinations(in node, keys []*expr.Expr) float64 {
	rows, all := e.rows(in), 1.0
	for _, k := range keys {
		all *= e.values(in, k)
	}
	if all < rows {
		return all
	}
	return rows
}

// values is how many different values an expression has: at most as many as the
// combinations of the columns that it reads.
func (e *estimates) values(in node, x *expr.Expr) float64 {
	for x.Kind() == expr.KindAlias {
		x = x.Args()[0]
	}
	if x.Kind() == expr.KindCall && x.Op() == expr.OpYear {
		return 10
	}
	all := 1.0
	for _, name := range expr.Columns(x) {
		all *= e.distinct(in, name)
	}
	if b, err := x.Bind(in.schema()); err == nil && b.Type().ID() == arrow.BOOL {
		all = min(all, 3)
	}
	return min(all, max(1, e.rows(in)))
}

// share is the part of the rows of a node for which a condition is true.
func (e *estimates) share(in node, c *expr.Expr) float64 {
	if c == nil {
		return 1
	}
	if column, op, v, ok := c.Comparison(); ok {
		return e.compared(in, column, op, v)
	}
	if c.Kind() != expr.KindCall {
		return stats.OtherShare
	}
	args := c.Args()
	switch op := c.Op(); op {
	case expr.OpAnd:
		return e.shareOfAll(in, expr.Conjuncts(c))
	case expr.OpOr:
		a, b := e.share(in, args[0]), e.share(in, args[1])
		return a + b - a*b
	case expr.OpNot:
		return 1 - e.share(in, args[0])
	case expr.OpIn, expr.OpAmong:
		return e.among(in, args)
	case expr.OpEq:
		if args[0].Kind() == expr.KindColumn && args[1].Kind() == expr.KindColumn {
			return 1 / max(e.domain(in, args[0].Name()), e.domain(in, args[1].Name()))
		}
		return stats.EqualShare
	case expr.OpNe, expr.OpIsNotNull:
		return 0.9
	case expr.OpIsNull:
		return 0.1
	case expr.OpLike, expr.OpContains, expr.OpStartsWith, expr.OpEndsWith:
		return stats.LikeShare
	}
	return stats.OtherShare
}

// shareOfAll is that of conditions that must all be true. The two ends of a range of one column
// are taken together.
func (e *estimates) shareOfAll(in node, conds []*expr.Expr) float64 {
	share := 1.0
	low, high := map[string]float64{}, map[string]float64{} // shares cut off by the ends
	for _, c := range conds {
		column, op, _, ok := c.Comparison()
		s := e.share(in, c)
		switch {
		case ok && (op == kernels.Greater || op == kernels.GreaterEqual):
			low[column] = max(low[column], 1-s)
		case ok && (op == kernels.Less || op == kernels.LessEqual):
			high[column] = max(high[column], 1-s)
		default:
			share *= s
		}
	}
	for _, c := range conds {
		column, _, _, ok := c.Comparison()
		if !ok {
			continue
		}
		l, isLow := low[column]
		h, isHigh := high[column]
		delete(low, column)
		delete(high, column)
		switch {
		case isLow && isHigh && e.bounded(in, column):
			share *= max(1-l-h, 1e-4)
		case isLow || isHigh:
			share *= (1 - l) * (1 - h)
		}
	}
	return share
}

func (e *estimates) bounded(in node, column string) bool {
	c := e.column(in, column)
	return c != nil && c.Bounded
}

func (e *estimates) compared(in node, column string, op kernels.CompareOp, v kernels.Scalar) float64 {
	c := e.column(in, column)
	if c == nil {
		switch op {
		case kernels.Equal:
			return 1 / max(1, math.Sqrt(e.rows(in)))
		case kernels.NotEqual:
			return 0.9
		}
		return stats.RangeShare
	}
	at, known := numberOf(v)
	if t := typeOf(in, column); known && t != nil && kernels.TemporalTypes.Has(t.ID()) {
		known = arrow.TypeEqual(t, v.Type()) // else it counts in other units
	}
	equal := c.Equal(at, known)
	if !known {
		at = math.NaN()
	}
	switch op {
	case kernels.Equal:
		return equal
	case kernels.NotEqual:
		return max(0, 1-equal)
	case kernels.Less, kernels.LessEqual:
		return c.Below(at)
	}
	if !known || !c.Bounded {
		return stats.RangeShare
	}
	return max(0, 1-c.Below(at))
}

func (e *estimates) among(in node, args []*expr.Expr) float64 {
	if args[0].Kind() != expr.KindColumn {
		return min(1, stats.EqualShare*float64(len(args)-1))
	}
	share := 0.0
	for _, a := range args[1:] {
		share += e.compared(in, args[0].Name(), kernels.Equal, a.Value())
	}
	return min(1, share)
}

// numberOf is a constant as the bounds of columns are kept.
func numberOf(v kernels.Scalar) (float64, bool) {
	if v.Type() == nil || !v.Valid() {
		return 0, false
	}
	switch id := v.Type().ID(); {
	case id == arrow.DECIMAL128:
		return v.Decimal().ToFloat64(v.Type().(*arrow.Decimal128Type).Scale), true
	case kernels.NumberTypes.Has(id) || kernels.TemporalTypes.Has(id) || id == arrow.BOOL:
		return v.Float64(), true
	}
	return 0, false
}

// typeOf is the type of a column of a node, nil where there is none.
func typeOf(n node, column string) arrow.DataType {
	if at := n.schema().FieldIndices(column); len(at) == 1 {
		return n.schema().Field(at[0]).Type
	}
	return nil
}
