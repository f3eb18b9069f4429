package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// materialised is a node that the optimiser cannot look through: conditions stay
// above it, and it asks for all columns below.
type materialised struct{ in node }

func (m materialised) resolve(ctx context.Context) (node, error) {
	in, err := m.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	return materialised{in}, nil
}

func (m materialised) schema() *arrow.Schema        { return m.in.schema() }
func (m materialised) inputs() []node               { return []node{m.in} }
func (m materialised) withInputs(in []node) node    { return materialised{in[0]} }
func (m materialised) text() string                 { return "materialised" }
func (m materialised) push(conds []*expr.Expr) node { return keep(m, conds) }
func (m materialised) prune(names) node {
	return materialised{m.in.prune(namesOf(fieldNames(m.in.schema())))}
}
func (m materialised) compile(r *runner) (exec.Source, error) { return m.in.compile(r) }
