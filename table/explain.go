package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/volley-go/volley/kernels"
)

// Explain is the plan as it would run, after optimisation: a line for each
// operator, its inputs indented below it, with the columns and conditions that
// sources are given. The plans of scalars come after it, in the order in which they are
// run; in the conditions their names stand for the values. Parts that stand in the plans more
// than once, and are run once, are at the end.
func (q *Query) Explain(ctx context.Context) (string, error) {
	var scalars strings.Builder
	n, o, err := q.resolved(ctx, func(o *optimiser, s *scalarNode) (kernels.Scalar, error) {
		scalars.WriteString("scalar " + s.name + "\n")
		explain(&scalars, o.optimise(s.plan()), 1)
		return unknownScalar(s)
	})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	explain(&b, n, 0)
	b.WriteString(scalars.String())
	for _, s := range o.shares {
		fmt.Fprintf(&b, "shared %d, run once\n", s.number)
		explain(&b, s.final, 1)
	}
	return b.String(), nil
}

func explain(b *strings.Builder, n node, depth int) {
	b.WriteString(strings.Repeat("  ", depth) + n.text() + "\n")
	for _, in := range n.inputs() {
		explain(b, in, depth+1)
	}
}
