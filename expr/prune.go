package expr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// Range is what is known about a column over some rows, a Parquet row group
// say, without reading them.
type Range struct {
	// Min and Max bound the values that are not null, NaNs left out, in the
	// column's type. Either may be a null or a Scalar without a type: not known.
	Min, Max kernels.Scalar
	// Nulls is the number of nulls, -1 if not known.
	Nulls int64
	// Rows is the number of rows.
	Rows int64
	// Distinct is about how many values there are, 0 if that is not known. It is a guess.
	Distinct int64
}

// MayBeTrue is false only where the first result, a bool, is surely true of no
// row, by what ranges tells about columns; ranges returns false for a column
// that nothing is known of, which then rules nothing out. No value is read.
func (b *Bound) MayBeTrue(ranges func(column string) (Range, bool)) bool {
	p := &pruner{bound: b, ranges: ranges}
	return p.truth(b.roots[0]).isTrue
}

// truth is which answers are possible for some row.
type truth struct{ isTrue, isFalse, isNull bool }

var anything = truth{true, true, true}

type pruner struct {
	bound  *Bound
	ranges func(string) (Range, bool)
}

func (p *pruner) truth(i int) truth {
	n := p.bound.nodes[i]
	if n.kind == KindLiteral && n.typ.ID() == arrow.BOOL {
		if !n.value.Valid() {
			return truth{isNull: true}
		}
		return truth{isTrue: n.value.Bool(), isFalse: !n.value.Bool()}
	}
	if n.kind != KindCall {
		return anything
	}
	switch {
	case n.op.isCompare():
		return p.compare(n)
	case n.op == OpNot:
		t := p.truth(n.args[0])
		return truth{t.isFalse, t.isTrue, t.isNull}
	case n.op == OpAnd || n.op == OpOr || n.op == OpAndNot:
		return p.logic(n)
	case n.op == OpIsNull || n.op == OpIsNotNull:
		r, ok := p.known(n.args[0])
		if !ok || r.Nulls < 0 {
			return truth{true, true, false}
		}
		null, value := r.Nulls > 0, r.Nulls < r.Rows
		if n.op == OpIsNull {
			return truth{null, value, false}
		}
		return truth{value, null, false}
	case n.op.isIn():
		return p.in(n)
	}
	return anything
}

func (p *pruner) logic(n node) truth {
	a, c := p.truth(n.args[0]), p.truth(n.args[1])
	if n.op == OpAndNot {
		c = truth{c.isFalse, c.isTrue, c.isNull}
	}
	if n.op == OpOr { // a or c is not (not a and not c)
		t := both(truth{a.isFalse, a.isTrue, a.isNull}, truth{c.isFalse, c.isTrue, c.isNull})
		return truth{t.isFalse, t.isTrue, t.isNull}
	}
	return both(a, c)
}

func both(a, c truth) truth {
	return truth{
		isTrue:  a.isTrue && c.isTrue,
		isFalse: a.isFalse || c.isFalse,
		isNull:  a.isNull && (c.isNull || c.isTrue) || c.isNull && a.isTrue,
	}
}

// known is the range of a step that is a column, a literal or a cast of one
// that keeps the order of numbers.
func (p *pruner) known(i int) (Range, bool) {
	n := p.bound.nodes[i]
	switch n.kind {
	case KindColumn:
		r, ok := p.ranges(p.bound.schema.Field(n.column).Name)
		if ok && usable(r.Min, n.typ) && usable(r.Max, n.typ) && kernels.CompareKeys(r.Min, r.Max) > 0 {
			r.Min, r.Max = kernels.Scalar{}, kernels.Scalar{} // bounds that no value lies between bound nothing
		}
		return r, ok
	case KindLiteral:
		if n.value.Valid() {
			return Range{Min: n.value, Max: n.value, Rows: 1}, true
		}
		return Range{Nulls: 1, Rows: 1}, true
	case KindCast:
		r, ok := p.known(n.args[0])
		if !ok {
			return r, false
		}
		r.Min, r.Max = widened(r.Min, n.typ), widened(r.Max, n.typ)
		return r, true
	}
	return Range{}, false
}

// widened is a bound in another type of number, or not known.
func widened(v kernels.Scalar, t arrow.DataType) kernels.Scalar {
	if v.Type() == nil || !v.Valid() || !kernels.NumberTypes.Has(v.Type().ID()) || !kernels.NumberTypes.Has(t.ID()) {
		return kernels.Scalar{}
	}
	if t.ID() == arrow.FLOAT64 {
		return kernels.Float64(v.Float64()) // rounding keeps the order
	}
	if w, ok := adapt(v, t, true); ok {
		return w
	}
	return kernels.Scalar{}
}

// usable reports whether v is a bound in type t.
func usable(v kernels.Scalar, t arrow.DataType) bool {
	if v.Type() == nil || !v.Valid() || !arrow.TypeEqual(v.Type(), t) {
		return false
	}
	return !kernels.FloatTypes.Has(t.ID()) || !math.IsNaN(v.Float64())
}

func (p *pruner) compare(n node) truth {
	a, ok1 := p.known(n.args[0])
	c, ok2 := p.known(n.args[1])
	if !ok1 || !ok2 {
		return anything
	}
	t := p.bound.nodes[n.args[0]].typ
	out := truth{isTrue: true, isFalse: true, isNull: a.Nulls != 0 || c.Nulls != 0}
	if a.Nulls >= 0 && a.Nulls == a.Rows || c.Nulls >= 0 && c.Nulls == c.Rows {
		return truth{isNull: true}
	}
	if !usable(a.Min, t) || !usable(a.Max, t) || !usable(c.Min, t) || !usable(c.Max, t) {
		return out
	}
	below := kernels.CompareKeys(a.Min, c.Max) // the least difference
	above := kernels.CompareKeys(a.Max, c.Min) // the greatest
	can := func(op Op) bool {
		switch op {
		case OpEq:
			return below <= 0 && above >= 0
		case OpNe:
			return below != 0 || above != 0
		case OpLt:
			return below < 0
		case OpLe:
			return below <= 0
		case OpGt:
			return above > 0
		default:
			return above >= 0
		}
	}
	out.isTrue, out.isFalse = can(n.op), can(negated[n.op])
	if kernels.FloatTypes.Has(t.ID()) { // there may be NaNs, which bounds leave out
		out.isFalse = true
		out.isTrue = out.isTrue || n.op == OpNe
	}
	return out
}

// negated is the comparison that is false where each is true.
var negated = map[Op]Op{OpEq: OpNe, OpNe: OpEq, OpLt: OpGe, OpGe: OpLt, OpGt: OpLe, OpLe: OpGt}

func (p *pruner) in(n node) truth {
	r, ok := p.known(n.args[0])
	t := p.bound.nodes[n.args[0]].typ
	if !ok {
		return truth{true, true, n.op == OpAmong}
	}
	out := truth{isFalse: true, isNull: n.op == OpAmong}
	for _, v := range n.set {
		if out.isTrue {
			break
		}
		switch {
		case !v.Valid():
			out.isTrue = out.isTrue || r.Nulls != 0
		case r.Nulls >= 0 && r.Nulls == r.Rows:
		case !usable(r.Min, t) || !usable(r.Max, t) || !usable(v, t):
			out.isTrue = true
		case kernels.CompareKeys(r.Min, v) <= 0 && kernels.CompareKeys(v, r.Max) <= 0:
			out.isTrue = true
		}
	}
	return out
}
