package table

import (
	"slices"

	"github.com/volley-go/volley/expr"
)

// A side of a join is reduced where it has at least a morsel of rows, reduceTimes as many as the
// other side, of which no more than reduceShare are thought to have a key that the other has.
const (
	reduceTimes = 4
	reduceShare = 0.3
	// sortedMost is the most rows of a side whose keys come in order that are built as they are,
	// which takes less time and more memory than to leave some out.
	sortedMost = 1 << 20
)

// reduce leaves out rows that no row of the other side of a join can match before they are built
// or grouped: the smaller side is run once, as a shared part, and read twice, by the join and
// by a semi join that keeps what it has keys for. Every step sees the rows that are left
// in their order.
func (o *optimiser) reduce(n node) node {
	n = replaceInputs(n, o.reduce)
	j, ok := n.(*joinNode)
	if !ok || j.streams || j.kind == Right || j.kind == Full || j.kind == Cross || o.off[ruleReduce] {
		return n
	}
	if right := o.reduced(j, j.left, j.right, 1, j.where != nil || j.kind != Inner || !j.anyOrder); right != nil {
		return j.withInputs(right)
	}
	if j.kind == Inner && !o.handsAny(j) {
		if both := o.reduced(j, j.right, j.left, 0, false); both != nil {
			return j.withInputs(both)
		}
	}
	if further := o.reducedFurther(j); further != nil {
		return further
	}
	return n
}

// reducedFurther is a join whose right side is cut to the keys of a small side that a join below its
// left side has: parts of one name are joined with their lines, and these with all that is
// supplied by the same key, of which only those parts are needed. It is nil where there is no such side.
func (o *optimiser) reducedFurther(j *joinNode) node {
	if j.nullsEqual {
		return nil
	}
	for i, k := range j.keys {
		if !sameType(typeOf(j.right, k.right), j.keyTypes[i]) {
			continue
		}
		right := node(nil)
		left := o.sharing(j.left, k.left, func(small node, key string) node {
			if !sameType(typeOf(small, key), j.keyTypes[i]) || o.guess.rows(small) > sharedMost || reduceTimes*o.guess.rows(small) > o.guess.rows(j.right) {
				return nil
			}
			of := &shared{number: o.numbered + 1, in: small, need: names{}, uses: 2}
			use := &sharedNode{of: of, o: o, out: small.schema()}
			by := &joinNode{kind: Semi, keyTypes: j.keyTypes[i : i+1]}
			by.keys = []keyPair{{key, k.right}}
			if right = o.cut(by, use, j.right, 1, nil, true); right == nil && len(j.keys) > 1 { // several keys are never built fast
				right = o.semiCut(by, use, j.right, 1, nil)
			}
			if right == nil {
				return nil
			}
			o.numbered++
			o.local = append(o.local, of)
			return use
		})
		if left != nil {
			return j.withInputs([]node{left, right})
		}
	}
	return nil
}

// sharing goes down a left side to the inner and semi joins of which a column is a key, and puts what use makes of their right
// side, and the key there, in its place. It is nil where there is none, or use makes nothing of any.
func (o *optimiser) sharing(n node, column string, use func(small node, key string) node) node {
	switch n := n.(type) {
	case *filterNode:
		if in := o.sharing(n.in, column, use); in != nil {
			return n.withInputs([]node{in})
		}
	case *projectNode:
		if name, found := keyBelow(n.items, column); found {
			if in := o.sharing(n.in, name, use); in != nil {
				return n.withInputs([]node{in})
			}
		}
	case *joinNode:
		if n.kind != Inner && n.kind != Semi || n.nullsEqual || n.streams {
			return nil
		}
		at := slices.IndexFunc(n.outputs, func(out joinOutput) bool { return out.name == column })
		if at < 0 {
			return nil
		}
		from := n.outputs[at]
		for _, k := range n.keys {
			if from.onLeft() && from.left == k.left || !from.onLeft() && from.right == k.right {
				if right := use(n.right, k.right); right != nil {
					return n.withInputs([]node{n.left, right})
				}
			}
		}
		if from.onLeft() {
			if left := o.sharing(n.left, from.left, use); left != nil {
				return n.withInputs([]node{left, n.right})
			}
		} else if right := o.sharing(n.right, from.right, use); right != nil {
			return n.withInputs([]node{n.left, right})
		}
	}
	return nil
}

// reduced are the inputs of a join with the large side cut to what the small one has keys
// for, nil where that is not worth it. at is the place of the large one. top says that it is
// worth it without groups in the large side, too.
func (o *optimiser) reduced(j *joinNode, small, large node, at int, top bool) []node {
	if o.guess.rows(small) > sharedMost || reduceTimes*o.guess.rows(small) > o.guess.rows(large) && !o.groups(small, large) {
		return nil
	}
	of := &shared{number: o.numbered + 1, in: small, need: names{}, uses: 2}
	use := &sharedNode{of: of, o: o, out: small.schema()}
	cut := o.cut(j, use, large, at, nil, top)
	if cut == nil {
		return nil
	}
	o.numbered++
	o.local = append(o.local, of)
	if at == 0 {
		return []node{cut, use}
	}
	return []node{use, cut}
}

// groups reports whether a side gives groups of many more rows than the small side has.
func (o *optimiser) groups(small, large node) bool {
	for {
		switch n := large.(type) {
		case *filterNode:
			large = n.in
		case *projectNode:
			large = n.in
		case *groupNode:
			return len(n.keys) > 0 && reduceTimes*o.guess.rows(small) <= o.guess.rows(n.in)
		default:
			return false
		}
	}
}

// cut goes down a side, through what leaves its keys as they are, to the groups by a key or
// the top of the side, and puts the semi join there. name says what the columns of the top are
// called here, nil that they have their own names.
func (o *optimiser) cut(j *joinNode, use *sharedNode, side node, at int, name map[string]string, top bool) node {
	switch n := side.(type) {
	case *filterNode:
		if in := o.cut(j, use, n.in, at, name, false); in != nil {
			return n.withInputs([]node{in})
		}
	case *projectNode:
		if in := o.cut(j, use, n.in, at, below(j, at, name, n.items), false); in != nil {
			return n.withInputs([]node{in})
		}
	case *groupNode:
		if len(n.keys) > 0 {
			if in := o.semiCut(j, use, n.in, at, below(j, at, name, n.keys)); in != nil {
				return n.withInputs([]node{in})
			}
		}
	}
	if top && !(j.where == nil && o.guess.rows(side) <= sortedMost && o.sorted(j, side, at, name)) {
		return o.semiCut(j, use, side, at, name)
	}
	return nil
}

// sorted reports whether the keys of a side come in order: a table of them is built in less
// time than they are looked up.
func (o *optimiser) sorted(j *joinNode, side node, at int, name map[string]string) bool {
	for _, k := range j.keys {
		key, ok := calledBelow(name, k.side(at))
		if !ok {
			return false
		}
		if c := o.guess.column(side, key); c == nil || !c.Sorted {
			return false
		}
	}
	return true
}

// below says what the keys of a side of a join are called below named columns.
func below(j *joinNode, at int, name map[string]string, items []named) map[string]string {
	out := map[string]string{}
	for _, k := range j.keys {
		key := k.side(at)
		now, ok := calledBelow(name, key)
		for _, it := range items {
			e := it.e
			for e.Kind() == expr.KindAlias {
				e = e.Args()[0]
			}
			if ok && it.name == now && e.Kind() == expr.KindColumn {
				out[key] = e.Name()
			}
		}
	}
	return out
}

// calledBelow is what a key is called below, if anything.
func calledBelow(name map[string]string, key string) (_ string, found bool) {
	if name == nil {
		return key, true
	}
	key, found = name[key]
	return key, found
}

func (k keyPair) side(at int) string {
	if at == 0 {
		return k.left
	}
	return k.right
}

// semiCut keeps the rows of n whose key the small side has: of the keys the one of which it has
// the smallest share.
func (o *optimiser) semiCut(j *joinNode, use *sharedNode, n node, at int, name map[string]string) node {
	best, least, called := -1, reduceShare, ""
	for i, k := range j.keys {
		key, ok := calledBelow(name, k.side(at))
		if !ok {
			continue
		}
		other := k.side(1 - at)
		share := o.guess.distinct(use, other) / max(o.guess.domain(n, key), o.guess.domain(use, other))
		if share <= least {
			best, least, called = i, share, key
		}
	}
	if best < 0 || o.guess.rows(n) < o.guess.morsel {
		return nil
	}
	k := j.keys[best]
	cut := &joinNode{left: n, right: use, kind: Semi, out: n.schema()}
	cut.nullsEqual = j.nullsEqual
	cut.keys = []keyPair{{called, k.side(1 - at)}}
	cut.keyTypes = append(cut.keyTypes, j.keyTypes[best])
	for _, f := range n.schema().Fields() {
		cut.outputs = append(cut.outputs, leftOutput(f.Name, f.Name))
	}
	o.guess.known[cut] = o.guess.rows(n) * least
	return cut
}

// finish makes what is run of the shared parts of reduced joins, those that hold others
// first.
func (o *optimiser) finish() {
	for i := len(o.local) - 1; i >= 0; i-- {
		s := o.local[i]
		s.final = o.last(exactly(s.in.prune(s.need), subset(s.in.schema(), s.need.among(s.in.schema()))))
	}
	o.local = nil
}
