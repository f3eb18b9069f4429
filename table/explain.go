package table

import (
	"context"
	"strings"
)

// Explain is the plan as it would run, after optimisation: a line for each
// operator, its inputs indented below it, with the columns and conditions that
// sources are given.
func (q *Query) Explain(ctx context.Context) (string, error) {
	n, err := q.resolved(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	explain(&b, n, 0)
	return b.String(), nil
}

func explain(b *strings.Builder, n node, depth int) {
	b.WriteString(strings.Repeat("  ", depth) + n.text() + "\n")
	for _, in := range n.inputs() {
		explain(b, in, depth+1)
	}
}
