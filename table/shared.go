package table

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// shared is a part of a plan, or of several that are run together, which stands there more
// than once. It is run once.
type shared struct {
	number int
	in     node  // conditions are where they belong in it; nothing else is done
	need   names // columns that somebody reads
	seen   bool  // somebody sees in which order its rows come
	uses   int
	final  node // what is run, once all uses are known
}

// sharedNode reads the rows of a shared part.
type sharedNode struct {
	of  *shared
	o   *optimiser
	out *arrow.Schema
}

func (n *sharedNode) resolve(context.Context) (node, error) { return n, nil }
func (n *sharedNode) schema() *arrow.Schema                 { return n.out }
func (n *sharedNode) inputs() []node                        { return nil }
func (n *sharedNode) withInputs([]node) node                { return n }
func (n *sharedNode) push(conds []*expr.Expr) node          { return keep(n, conds) }

func (n *sharedNode) text() string {
	return fmt.Sprintf("shared %d columns [%s]", n.of.number, strings.Join(fieldNames(n.out), ", "))
}

// prune says which columns are needed. One that nobody said before is not among those that
// are there: the part is run for this use alone then.
func (n *sharedNode) prune(need names) node {
	list := need.among(n.out)
	if n.of.final == nil {
		for _, name := range list {
			n.of.need[name] = true
		}
	} else if slices.ContainsFunc(list, func(name string) bool { return !n.of.need[name] }) {
		alone, _ := n.o.reorder(unshared(n.of.in), true)
		return alone.prune(need)
	}
	return &sharedNode{of: n.of, o: n.o, out: subset(n.out, list)}
}

func (n *sharedNode) compile(r *runner) (exec.Source, error) {
	return &sharedSource{r: r, node: n}, nil
}

// unshared is a plan in which nothing is shared.
func unshared(n node) node {
	if s, ok := n.(*sharedNode); ok {
		return unshared(s.of.in)
	}
	ins := n.inputs()
	if len(ins) == 0 {
		return n
	}
	out := make([]node, len(ins))
	for i, in := range ins {
		out[i] = unshared(in)
	}
	return n.withInputs(out)
}

// sharedRows are the rows of shared parts that were run.
type sharedRows struct {
	lock sync.Mutex
	of   map[*shared]*sharedBatches
}

type sharedBatches struct {
	lock    sync.Mutex // held while the part runs
	run     bool
	batches []*Batch
	readers int // that have not come
}

// rows runs a part where nobody has yet, and gives its batches: references that belong
// to the caller. What the last reader has taken is kept no longer.
func (s *sharedRows) rows(ctx context.Context, r *runner, of *shared) ([]*Batch, error) {
	s.lock.Lock()
	kept := s.of[of]
	if kept == nil {
		if s.of == nil {
			s.of = map[*shared]*sharedBatches{}
		}
		kept = &sharedBatches{}
		s.of[of] = kept
	}
	s.lock.Unlock()
	return kept.read(ctx, r, of)
}

func (b *sharedBatches) read(ctx context.Context, r *runner, of *shared) ([]*Batch, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if !b.run {
		rows, err := r.plan(fmt.Sprintf("shared %d", of.number), of.final)
		if err != nil {
			return nil, err
		}
		batches, err := drain(ctx, rows)
		rows.Close()
		if err != nil {
			return nil, err
		}
		b.run, b.batches, b.readers = true, batches, of.uses
	}
	out := exec.Retained(b.batches)
	if b.readers--; b.readers <= 0 {
		b.release()
	}
	return out, nil
}

func (b *sharedBatches) release() {
	exec.ReleaseAll(b.batches)
	b.run, b.batches = false, nil
}

// close gives back what readers that never came have left.
func (s *sharedRows) close() {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, kept := range s.of {
		kept.lock.Lock()
		kept.release()
		kept.lock.Unlock()
	}
}

type sharedSource struct {
	r     *runner
	node  *sharedNode
	rows  []*Batch // not yet given
	begun bool
}

func (o *sharedSource) Close() { exec.ReleaseAll(o.rows) }

func (o *sharedSource) Next(ctx context.Context) (*Batch, error) {
	if !o.begun {
		rows, err := o.r.shared.rows(ctx, o.r, o.node.of)
		if err != nil {
			return nil, err
		}
		o.begun, o.rows = true, rows
	}
	if len(o.rows) == 0 {
		return nil, io.EOF
	}
	b := o.rows[0]
	o.rows = o.rows[1:]
	defer b.Release()
	return project(b, o.node.out)
}

// signature is a text that two plans have in common if they are likely to be equal; ok is
// false of plans that are not compared.
func signature(n node) (text string, ok bool) {
	var own string
	switch n := n.(type) {
	case *tableNode:
		return fmt.Sprintf("table %p %v", n.table, fieldNames(n.out)), true
	case *scanNode:
		if reflect.ValueOf(n.source).Kind() != reflect.Pointer {
			return "", false
		}
		return fmt.Sprintf("scan %p %s", n.source, n.text()), true
	case *joinNode:
		own = fmt.Sprint(n.text(), n.nullsEqual, n.anyOrder, n.streams)
	case *groupNode:
		own = fmt.Sprint(n.text(), n.options)
		for _, a := range n.aggs {
			own += fmt.Sprint(a.options)
		}
	case *filterNode, *projectNode, *sortNode, *limitNode, *distinctNode, *unionNode, *sharedNode:
		own = n.text()
	default:
		return "", false
	}
	for _, e := range expressions(n) {
		if holdsNamed(e) {
			return "", false // a scalar, which may have another value next time
		}
	}
	for _, in := range n.inputs() {
		below, ok := signature(in)
		if !ok {
			return "", false
		}
		own += "(" + below + ")"
	}
	return fmt.Sprintf("%T %s", n, own), true
}

// expressions are those of a node.
func expressions(n node) []*expr.Expr {
	switch n := n.(type) {
	case *scanNode:
		return []*expr.Expr{n.predicate}
	case *filterNode:
		return []*expr.Expr{n.predicate}
	case *projectNode:
		return exprsOf(n.items)
	case *sortNode:
		return n.exprs()
	case *joinNode:
		return []*expr.Expr{n.where}
	case *groupNode:
		all := exprsOf(n.keys)
		for _, a := range n.aggs {
			all = append(all, a.arg)
		}
		return all
	}
	return nil
}

// holdsNamed reports whether an expression has a constant that is shown by a name.
func holdsNamed(e *expr.Expr) bool {
	if e == nil {
		return false
	}
	return e.Kind() == expr.KindLiteral && e.Name() != "" || slices.ContainsFunc(e.Args(), holdsNamed)
}

// samePlan reports whether two plans of one signature are equal: their constants have the
// same types, too.
func samePlan(a, b node) bool {
	return slices.EqualFunc(expressions(a), expressions(b), expr.Equal) && slices.EqualFunc(a.inputs(), b.inputs(), samePlan)
}
