package table

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// The rules that VOLLEY_OPTIMISER can switch off, by name.
const (
	ruleJoinOrder  = "joinorder"  // joins in the order that costs least, the smaller side built
	ruleTies       = "ties"       // also below sorts that are only likely to tell rows apart
	ruleImplied    = "implied"    // what the branches of an or have in common, for each side of a join
	ruleShared     = "shared"     // equal parts of a plan run once
	ruleReduce     = "reduce"     // rows that the smaller side of a join has no key for are left out early
	ruleJoinFilter = "joinfilter" // keys of a build side leave rows of the other side out where they come from
	ruleMask       = "mask"       // groups take a mask for a key where a filter keeps most rows
	ruleDependence = "dependence" // keys of groups that other keys determine are not compared
	ruleEager      = "eager"      // rows of the right side of a join are aggregated before it
)

// rules are the names of all of them.
var rules = []string{ruleJoinOrder, ruleTies, ruleImplied, ruleShared, ruleReduce, ruleJoinFilter, ruleMask, ruleDependence, ruleEager}

// switches are the rules that are off.
type switches map[string]bool

// rulesVariable switches rules off.
const rulesVariable = "VOLLEY_OPTIMISER"

// switchesOf reads "-name,-name"; "-all" is every rule, and "" none. A word that is neither is an error.
func switchesOf(text string) (switches, error) {
	off := switches{}
	if strings.TrimSpace(text) == "" {
		return off, nil
	}
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		name, minus := strings.CutPrefix(word, "-")
		switch {
		case minus && name == "all":
			for _, r := range rules {
				off[r] = true
			}
		case minus && slices.Contains(rules, name):
			off[name] = true
		default:
			return nil, fmt.Errorf("%w: %s=%q: %q is no rule to switch off; they are -all or -%s", device.ErrMismatch, rulesVariable, text, word, strings.Join(rules, ", -"))
		}
	}
	return off, nil
}

func newOptimiser() (*optimiser, error) {
	off, err := switchesOf(os.Getenv(rulesVariable))
	return &optimiser{off: off, guess: newEstimates(), bySignature: map[string][]*shared{}}, err
}

// isOff reports whether a rule is switched off.
func isOff(rule string) bool {
	off, _ := switchesOf(os.Getenv(rulesVariable)) // an error has ended the query at its begin
	return off[rule]
}

// optimise rewrites a resolved plan to one with the same result: conditions go
// down as far as they can, and into the sources; a head of a sort becomes a
// top-k, one of a source a limit; joins are put in the order that costs least; then
// every node is cut to the columns that somebody needs.
func (o *optimiser) optimise(n node) node { return o.finished(o.reshared(pushed(n)), n.schema()) }

// finished is a plan whose conditions are where they belong, with all else done.
func (o *optimiser) finished(n node, want *arrow.Schema) node {
	n, _ = o.reorder(n, true)
	n = exactly(o.reduce(o.eager(n)).prune(namesOf(fieldNames(want))), want)
	o.finish()
	return o.last(n)
}

// last does what is done to a plan that is otherwise as it will run.
func (o *optimiser) last(n node) node { return o.depend(o.mask(o.hand(n))) }

// replaceTied is replaceInputs, and of both plans of a sort that looks for ties.
func replaceTied(n node, f func(node) node) node {
	t, ok := n.(*tiedNode)
	if !ok {
		return replaceInputs(n, f)
	}
	out := *t
	out.sort, out.slow = f(t.sort).(*sortNode), f(t.slow)
	return &out
}

// exactly is n with the columns of want, in that order and no others.
func exactly(n node, want *arrow.Schema) node {
	list := fieldNames(want)
	if slices.Equal(fieldNames(n.schema()), list) {
		return n
	}
	p := &projectNode{in: n, out: subset(n.schema(), list)}
	for _, name := range list {
		p.items = append(p.items, named{name, expr.Col(name)})
	}
	return p.reduced()
}

// keep puts conditions that could not go further above n.
func keep(n node, conds []*expr.Expr) node {
	if len(conds) == 0 {
		return n
	}
	return &filterNode{in: n, predicate: expr.AllOf(conds...), out: n.schema()}
}

// split sorts conditions into those that f takes and the others.
func split(conds []*expr.Expr, f func(*expr.Expr) bool) (yes, no []*expr.Expr) {
	for _, c := range conds {
		if f(c) {
			yes = append(yes, c)
		} else {
			no = append(no, c)
		}
	}
	return yes, no
}

// mayFail reports whether an expression can refuse a row: it must then see no
// rows that a condition before it took away.
func mayFail(e *expr.Expr) bool { return refuses(e) || slices.ContainsFunc(e.Args(), mayFail) }

// refuses is mayFail of the last step alone.
func refuses(e *expr.Expr) bool {
	op := e.Op()
	return e.Kind() == expr.KindCast || e.Kind() == expr.KindCall &&
		(op == expr.OpDiv || op == expr.OpMod || op >= expr.OpAddChecked && op <= expr.OpModChecked)
}

// canFail is mayFail where the types of columns are known: a division of floats fails on
// no row.
func canFail(in *arrow.Schema, all ...*expr.Expr) bool {
	return slices.ContainsFunc(all, func(e *expr.Expr) bool {
		if refuses(e) {
			if e.Kind() == expr.KindCast || e.Op() != expr.OpDiv {
				return true
			}
			if b, err := e.Bind(in); err != nil || !kernels.FloatTypes.Has(b.Type().ID()) {
				return true
			}
		}
		return canFail(in, e.Args()...)
	})
}

// reads reports whether a condition reads columns, and only those of set.
func reads(e *expr.Expr, set names) bool {
	list := expr.Columns(e)
	return len(list) > 0 && !slices.ContainsFunc(list, func(n string) bool { return !set[n] })
}

// through rewrites conditions over named columns to what these are below: columns, at
// least one in each condition, and constants.
func through(conds []*expr.Expr, items []named) (below, above []*expr.Expr) {
	from := map[string]*expr.Expr{}
	plain, constant := names{}, names{}
	for _, it := range items {
		e := it.e
		for e.Kind() == expr.KindAlias {
			e = e.Args()[0]
		}
		if e.Kind() == expr.KindColumn {
			from[it.name], plain[it.name] = e, true
		}
		if e.Kind() == expr.KindLiteral {
			from[it.name], plain[it.name], constant[it.name] = e, true, true
		}
	}
	below, above = split(conds, func(c *expr.Expr) bool { return reads(c, plain) && !reads(c, constant) })
	for i, c := range below {
		below[i] = expr.Rewrite(c, func(name string) *expr.Expr { return from[name] })
	}
	return below, above
}

// fuse turns a limit of a sort into a top-k, and hands limits to sources.
func fuse(n node) node {
	if n, ok := n.(*limitNode); ok {
		out := *n
		out.in = fuse(limited(n.in, n.offset+min(n.n, math.MaxInt64-n.offset)))
		if s, ok := out.in.(*sortNode); ok && n.n > 0 && n.offset == 0 && s.limit >= 0 && s.limit <= n.n { // a limit of 0 reads nothing
			return s
		}
		return &out
	}
	ins := n.inputs()
	if len(ins) == 0 {
		return n
	}
	fused := make([]node, len(ins))
	for i, in := range ins {
		fused[i] = fuse(in)
	}
	return n.withInputs(fused)
}

// limited tells n that only its first rows are needed.
func limited(n node, rows int64) node {
	switch n := n.(type) {
	case *sortNode:
		out := *n
		if out.limit < 0 || out.limit > rows {
			out.limit = rows
		}
		return &out
	case *projectNode:
		out := *n
		out.in = limited(n.in, rows)
		return &out
	case *scanNode:
		out := *n
		if rows > 0 && n.predicate == nil && (out.limit == 0 || out.limit > rows) {
			out.limit = rows
		}
		return &out
	case *limitNode:
		out := *n
		out.n = min(out.n, rows)
		return &out
	case *joinNode: // whose first rows come when some left rows are through
		out := *n
		out.streams = rows <= probeRows
		return &out
	}
	return n
}
