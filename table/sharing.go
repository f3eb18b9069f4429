package table

import "github.com/volley-go/volley/kernels"

// What is kept of a shared part: at most sharedMost rows, or a sharedShare of those of the
// tables below it. Running a part again that gives more rows costs less than to keep them.
const (
	sharedMost  = 1 << 20
	sharedShare = 0.25
)

// worthSharing reports whether a part does more than to read, filter and compute, and gives
// few rows.
func (e *estimates) worthSharing(n node) bool {
	return works(n) && e.rows(n) <= max(sharedMost, sharedShare*e.domainRows(n))
}

// works reports whether a plan has a join, groups, or anything else that takes all rows.
func works(n node) bool {
	switch n := n.(type) {
	case *filterNode, *projectNode, *limitNode:
		return works(n.inputs()[0])
	case *tableNode, *scanNode, *sharedNode, *unionNode:
		return false
	}
	return true
}

// share finds the parts that stand in plans more than once, the largest first, and puts one
// shared part in their place. Plans are changed in place.
func (o *optimiser) share(plans []node) {
	for again := true; again; {
		count := map[string][]node{}
		roots := append([]node(nil), plans...)
		for _, s := range o.shares {
			roots = append(roots, s.in)
		}
		for _, n := range roots {
			countParts(n, count)
		}
		made := len(o.shares)
		replace := func(n node) node { return o.replaced(n, count) }
		for i := range plans {
			plans[i] = replace(plans[i])
		}
		for _, s := range o.shares[:made] {
			s.in = replaceInputs(s.in, replace)
		}
		again = len(o.shares) > made
	}
}

func countParts(n node, count map[string][]node) {
	if text, ok := signature(n); ok {
		count[text] = append(count[text], n)
	}
	for _, in := range n.inputs() {
		countParts(in, count)
	}
}

// replaced is a plan with the parts that count has more than once as shared ones.
func (o *optimiser) replaced(n node, count map[string][]node) node {
	text, ok := signature(n)
	if ok && len(count[text]) > 1 && o.guess.worthSharing(n) {
		if s := o.sharedOf(text, n); s != nil {
			return s
		}
		same := 0
		for _, other := range count[text] {
			if samePlan(n, other) {
				same++
			}
		}
		if same > 1 {
			o.numbered++
			s := &shared{number: o.numbered, in: n, need: names{}}
			o.shares = append(o.shares, s)
			o.bySignature[text] = append(o.bySignature[text], s)
			return o.sharedOf(text, n)
		}
	}
	return replaceInputs(n, func(in node) node { return o.replaced(in, count) })
}

// sharedOf is the shared part that a plan is, nil where it is none.
func (o *optimiser) sharedOf(text string, n node) node {
	for _, s := range o.bySignature[text] {
		if samePlan(s.in, n) || s.final != nil && samePlan(unshared(s.in), n) {
			if s.final == nil {
				s.uses++
			}
			return &sharedNode{of: s, o: o, out: n.schema()}
		}
	}
	return nil
}

func replaceInputs(n node, f func(node) node) node {
	ins := n.inputs()
	changed := false
	out := make([]node, len(ins))
	for i, in := range ins {
		out[i] = f(in)
		changed = changed || out[i] != in
	}
	if !changed {
		return n
	}
	return n.withInputs(out)
}

// reshared is a plan with the shared parts that were found before in it.
func (o *optimiser) reshared(n node) node {
	if len(o.shares) == 0 {
		return n
	}
	if text, ok := signature(n); ok {
		if s := o.sharedOf(text, n); s != nil {
			return s
		}
	}
	return replaceInputs(n, o.reshared)
}

// plan makes of a resolved plan what is run, with the values of its scalars. Parts that it
// or the plans of its scalars have in common are found before any of these is run: as it is
// then known which columns somebody needs of them.
func (o *optimiser) plan(n node, valueOf func(*scalarNode) (kernels.Scalar, error)) (node, error) {
	var plans []node
	if !o.off[ruleShared] {
		all, err := settle(n, func(s *scalarNode) (kernels.Scalar, error) {
			plans = append(plans, pushed(s.plan()))
			return unknownScalar(s)
		})
		if err != nil {
			return nil, err
		}
		plans = append(plans, pushed(all))
		o.share(plans)
	}
	if len(o.shares) > 0 {
		for i, p := range plans {
			plans[i] = o.finished(p, p.schema())
		}
		for _, s := range o.shares {
			in, _ := o.reorder(s.in, s.seen)
			s.final = o.last(exactly(o.reduce(in).prune(s.need), subset(s.in.schema(), s.need.among(s.in.schema()))))
			o.finish()
		}
	}
	n, err := settle(n, valueOf)
	if err != nil {
		return nil, err
	}
	return o.optimise(n), nil
}

// plan is what is run to find the value of a scalar: a second row shows an error.
func (n *scalarNode) plan() node { return &limitNode{in: n.one, n: 2} }

func pushed(n node) node { return fuse(n.push(nil)) }
