package table

import (
	"slices"

	"github.com/volley-go/volley/expr"
)

// implied is a condition over the columns of set alone that is true wherever c is; nil where
// c says nothing of them. (x = 1 and y = 2) or (x = 3 and y = 4) says of x
// that it is 1 or 3.
func implied(c *expr.Expr, set names) *expr.Expr {
	if reads(c, set) {
		if mayFail(c) {
			return nil
		}
		return c
	}
	if c.Kind() != expr.KindCall {
		return nil
	}
	switch c.Op() {
	case expr.OpAnd:
		var parts []*expr.Expr
		for _, a := range expr.Conjuncts(c) {
			if i := implied(a, set); i != nil {
				parts = append(parts, i)
			}
		}
		return expr.AllOf(parts...)
	case expr.OpOr:
		a, b := implied(c.Args()[0], set), implied(c.Args()[1], set)
		if a != nil && b != nil {
			return a.Or(b)
		}
	}
	return nil
}

// impliedLeast is the share of rows that an implied condition may let through at most: it is asked
// of all rows, and the condition that implies it of those that are left, again.
const impliedLeast = 0.25

// impliedBelow are the conditions over the columns of one side of a join, which are called of
// below, that those above it imply.
func impliedBelow(side node, above []*expr.Expr, set names, of map[string]*expr.Expr) (all []*expr.Expr) {
	for _, c := range above {
		if c.Kind() != expr.KindCall || c.Op() != expr.OpOr || isOff(ruleImplied) {
			continue
		}
		i := implied(c, set)
		if i == nil {
			continue
		}
		i = expr.Rewrite(i, func(name string) *expr.Expr { return of[name] })
		if newEstimates().share(side, i) <= impliedLeast {
			all = append(all, i)
		}
	}
	return all
}

// factored is a condition with what all branches of an or have in common before it:
// (a and b) or (a and c) is a and (b or c), with nulls, too.
func factored(c *expr.Expr) []*expr.Expr {
	if c.Kind() != expr.KindCall || c.Op() != expr.OpOr || mayFail(c) || isOff(ruleImplied) {
		return []*expr.Expr{c}
	}
	branches := disjuncts(c)
	parts := make([][]*expr.Expr, len(branches))
	for i, b := range branches {
		parts[i] = expr.Conjuncts(b)
	}
	var common []*expr.Expr
	for _, p := range parts[0] {
		in := func(list []*expr.Expr) bool {
			return slices.ContainsFunc(list, func(e *expr.Expr) bool { return expr.Equal(e, p) })
		}
		if !slices.ContainsFunc(parts, func(list []*expr.Expr) bool { return !in(list) }) && !in(common) {
			common = append(common, p)
		}
	}
	if len(common) == 0 {
		return []*expr.Expr{c}
	}
	var rest *expr.Expr
	for _, list := range parts {
		list = slices.DeleteFunc(slices.Clone(list), func(e *expr.Expr) bool {
			return slices.ContainsFunc(common, func(p *expr.Expr) bool { return expr.Equal(e, p) })
		})
		switch {
		case len(list) == 0: // nothing beside the common part is asked for
			return common
		case rest == nil:
			rest = expr.AllOf(list...)
		default:
			rest = rest.Or(expr.AllOf(list...))
		}
	}
	return append(common, rest)
}

// disjuncts are the parts that Or joins.
func disjuncts(e *expr.Expr) []*expr.Expr {
	if e.Kind() == expr.KindCall && e.Op() == expr.OpOr {
		return append(disjuncts(e.Args()[0]), disjuncts(e.Args()[1])...)
	}
	return []*expr.Expr{e}
}
