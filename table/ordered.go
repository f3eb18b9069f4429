package table

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// optimiser is what the rules of one plan share.
type optimiser struct {
	off         switches
	guess       *estimates
	shares      []*shared // those that others hold first
	bySignature map[string][]*shared
	numbered    int       // shared parts
	local       []*shared // of reduced joins, which are not yet finished
	handles     int       // keys that joins hand down
}

// reorder puts joins in the order that costs least, from n down. seen says that somebody can
// see in which order the rows of n come; they then come as they were written.
// changed says that they may come in another.
func (o *optimiser) reorder(n node, seen bool) (_ node, changed bool) {
	switch n := n.(type) {
	case *joinNode:
		return o.reorderJoin(n, seen)
	case *sharedNode:
		return o.reorderShared(n, seen)
	case *sortNode:
		return o.reorderSort(n, seen)
	case *groupNode:
		in, changed := o.reorder(n.in, seen || n.feelsOrder())
		return n.withInputs([]node{in}), changed
	case *distinctNode:
		in, changed := o.reorder(n.in, seen || !n.all || feelsEquals(n.out))
		return n.withInputs([]node{in}), changed
	case *limitNode:
		g, one := n.in.(*groupNode)
		in, _ := o.reorder(n.in, !one || len(g.keys) > 0)
		return n.withInputs([]node{in}), false
	case *filterNode:
		if in, ok := n.in.(*joinNode); ok && !mayFail(n.predicate) && in.reorders() {
			return o.reorderChain(n, seen || in.streams)
		}
		in, changed := o.reorder(n.in, seen || canFail(n.in.schema(), n.predicate))
		return n.withInputs([]node{in}), changed
	case *projectNode:
		in, changed := o.reorder(n.in, seen || canFail(n.in.schema(), exprsOf(n.items)...))
		return n.withInputs([]node{in}), changed
	}
	return o.reorderInputs(n, func(int) bool { return seen })
}

// reorderInputs does what is below a node; seen says of each input whether its order can be
// seen.
func (o *optimiser) reorderInputs(n node, seen func(input int) bool) (_ node, changed bool) {
	ins := n.inputs()
	if len(ins) == 0 {
		return n, false
	}
	done := make([]node, len(ins))
	for i, in := range ins {
		var other bool
		done[i], other = o.reorder(in, seen(i))
		changed = changed || other
	}
	return n.withInputs(done), changed
}

// reorderJoin starts a chain of joins; the right rows of a semi or an anti join have no
// order that shows.
func (o *optimiser) reorderJoin(n *joinNode, seen bool) (node, bool) {
	seen = seen && !n.anyOrder
	if n.reorders() && !n.streams {
		return o.reorderChain(n, seen)
	}
	return o.reorderInputs(n, func(i int) bool { return seen && !(i == 1 && n.kind.leftOnly()) })
}

// reorderShared says whether the order of a shared part can be seen here. Where it cannot it may
// be seen at none of its uses.
func (o *optimiser) reorderShared(n *sharedNode, seen bool) (node, bool) {
	switch {
	case n.of.final == nil:
		n.of.seen = n.of.seen || seen
	case seen && !n.of.seen:
		return o.reorder(unshared(n.of.in), true)
	}
	return n, !seen
}

// reorderSort lets the rows below a sort come in any order where its keys tell all rows
// apart, or where that is likely: a tiedNode then looks whether they did.
func (o *optimiser) reorderSort(n *sortNode, seen bool) (node, bool) {
	if n.limit < 0 && !seen && !slices.ContainsFunc(n.exprs(), mayFail) {
		return o.reorder(n.in, false)
	}
	likely := n.limit != 0 && !o.off[ruleTies] && o.guess.tellsApart(n)
	total := totalBy(n.in, n.exprs())
	if slices.ContainsFunc(n.exprs(), mayFail) || !total && !likely {
		kept, _ := o.reorder(n.in, true)
		return n.withInputs([]node{kept}), false
	}
	free, changed := o.reorder(n.in, false)
	fast := n.withInputs([]node{free}).(*sortNode)
	if total || !changed {
		return fast, false
	}
	kept, _ := o.reorder(unshared(n.in), true) // as what is shared may come in any order
	return &tiedNode{sort: fast, slow: n.withInputs([]node{kept}), out: n.out}, false
}

// feelsOrder reports whether the values of groups depend on the order of rows: their
// last bits, which row is the first, which of 0 and -0 is shown.
func (n *groupNode) feelsOrder() bool {
	in := n.in.schema()
	for _, k := range n.keys {
		b, err := k.e.Bind(in)
		if err != nil || mayFail(k.e) || feelsEqual(b.Type()) {
			return true
		}
	}
	for _, a := range n.aggs {
		if a.arg != nil && mayFail(a.arg) {
			return true
		}
		switch a.op {
		case kernels.CountAll, kernels.Count, kernels.CountDistinct, kernels.Any, kernels.All:
			continue
		case kernels.Sum, kernels.SumWrapping, kernels.Min, kernels.Max:
			if b, err := a.arg.Bind(in); err == nil && !feelsEqual(b.Type()) {
				continue
			}
		}
		return true
	}
	return false
}

// feelsEqual reports whether a type has values that are equal and differ, 0 and -0,
// as floats do.
func feelsEqual(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return kernels.FloatTypes.Has(t.ID()) || !kernels.KeyTypes.Has(t.ID())
}

func feelsEquals(s *arrow.Schema) bool {
	return slices.ContainsFunc(s.Fields(), func(f arrow.Field) bool { return feelsEqual(f.Type) })
}

// totalBy reports whether no two rows of a node are equal in some expressions: these are
// all the keys of its groups, or of its distinct rows.
func totalBy(n node, by []*expr.Expr) bool {
	have := names{}
	for _, e := range by {
		if e.Kind() == expr.KindColumn {
			have[e.Name()] = true
		}
	}
	key, ok := uniqueKey(n)
	return ok && !slices.ContainsFunc(key, func(name string) bool { return !have[name] })
}

// uniqueKey are columns in which no two rows of a node are equal.
func uniqueKey(n node) (key []string, ok bool) {
	switch n := n.(type) {
	case *groupNode:
		for _, k := range n.keys {
			key = append(key, k.name)
		}
		return key, true
	case *distinctNode:
		return n.on, len(n.on) > 0
	case *filterNode, *sortNode, *limitNode:
		return uniqueKey(n.inputs()[0])
	case *sharedNode:
		return uniqueKey(n.of.in)
	case *projectNode:
		below, ok := uniqueKey(n.in)
		if !ok {
			return nil, false
		}
		to := map[string]string{}
		for _, it := range n.items {
			e := it.e
			for e.Kind() == expr.KindAlias {
				e = e.Args()[0]
			}
			if e.Kind() == expr.KindColumn {
				to[e.Name()] = it.name
			}
		}
		for _, name := range below {
			called, ok := to[name]
			if !ok {
				return nil, false
			}
			key = append(key, called)
		}
		return key, true
	}
	return nil, false
}
