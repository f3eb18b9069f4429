package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
)

// Explain is the plan as it would run, after optimisation: a line for each
// operator, its inputs indented below it, with the columns and conditions that
// sources are given. The plans of scalars come after it, in the order in which they are
// run; in the conditions their names stand for the values. Parts that stand in the plans more
// than once, and are run once, are at the end. How many rows a step gives is a guess.
func (q *Query) Explain(ctx context.Context) (_ string, err error) {
	defer exec.Guard(q.place(), &err)
	guess := newEstimates()
	scalars, b := explainer{guess: guess}, explainer{guess: guess}
	n, _, err := q.resolved(ctx, func(o *optimiser, s *scalarNode) (kernels.Scalar, error) {
		scalars.text.WriteString("scalar " + s.name + "\n")
		scalars.node(o.optimise(s.plan()), 1)
		return unknownScalar(s)
	})
	if err != nil {
		return "", err
	}
	b.node(n, 0)
	b.text.WriteString(scalars.text.String())
	for _, s := range scalars.shared {
		b.number(s)
	}
	for i := 0; i < len(b.shared); i++ { // one may hold another
		fmt.Fprintf(&b.text, "shared %d, run once\n", b.shared[i].number)
		b.node(b.shared[i].final, 1)
	}
	return b.text.String(), nil
}

// Schema is the names and types of the columns that the query gives. Files are opened for it,
// and no rows are read: of a plan that would fail before its first row it is that error.
func (q *Query) Schema(ctx context.Context) (_ *arrow.Schema, err error) {
	defer exec.Guard(q.place(), &err)
	n, _, err := q.resolved(ctx, func(_ *optimiser, s *scalarNode) (kernels.Scalar, error) { return unknownScalar(s) })
	if err != nil {
		return nil, err
	}
	return n.schema(), nil
}

// explainer writes plans, and remembers the shared parts that they read.
type explainer struct {
	text   strings.Builder
	shared []*shared
	guess  *estimates
}

// rowsKnown reports whether every table and source below says how many rows it has.
func rowsKnown(n node) bool {
	switch n := n.(type) {
	case *scanNode:
		return n.rowsStated() >= 0
	case *sharedNode:
		return rowsKnown(n.of.in)
	}
	return !slices.ContainsFunc(n.inputs(), func(in node) bool { return !rowsKnown(in) })
}

// about is how many rows are guessed of what gives another number than what is below it.
func (e *explainer) about(n node) string {
	switch n := n.(type) {
	case *filterNode, *joinNode, *distinctNode, *sharedNode:
	case *groupNode:
		if len(n.keys) == 0 {
			return ""
		}
	default:
		return ""
	}
	if !rowsKnown(n) {
		return ""
	}
	return fmt.Sprintf(" (about %.0f rows)", e.guess.rows(n))
}

func (e *explainer) node(n node, depth int) {
	if s, ok := n.(*sharedNode); ok {
		e.number(s.of)
	}
	e.text.WriteString(strings.Repeat("  ", depth) + n.text() + e.about(n) + "\n")
	for _, in := range n.inputs() {
		e.node(in, depth+1)
	}
}

func (e *explainer) number(s *shared) {
	if !slices.Contains(e.shared, s) {
		e.shared = append(e.shared, s)
	}
}
