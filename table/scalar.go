package table

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// scalarNode adds a column that has in every row the one value of another plan. It runs
// nothing: settle makes it a projection of a constant before a plan is optimised.
type scalarNode struct {
	in, one node
	name    string
	out     *arrow.Schema
}

func (n *scalarNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	one, err := n.one.resolve(ctx)
	if err != nil {
		return nil, n.wrap(err)
	}
	if k := one.schema().NumFields(); k != 1 {
		return nil, n.wrap(fmt.Errorf("%w: the other query has %d columns, %v, and not one", errMismatch, k, fieldNames(one.schema())))
	}
	out := &scalarNode{in: in, one: one, name: n.name}
	t := out.typ()
	if !kernels.KeyTypes.Has(t.ID()) {
		return nil, n.wrap(fmt.Errorf("%w: a value of type %s", device.ErrUnsupported, expr.TypeName(t)))
	}
	out.out, err = schemaOf(in.schema(), out.items(kernels.Null(t)))
	return out, n.wrap(err)
}

// wrap says which scalar failed.
func (n *scalarNode) wrap(err error) error { return wrapError(fmt.Sprintf("scalar %q", n.name), err) }

// typ is the type of the value.
func (n *scalarNode) typ() arrow.DataType {
	t := n.one.schema().Field(0).Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// items are the columns of the result.
func (n *scalarNode) items(v kernels.Scalar) []named {
	value := named{n.name, expr.Named(n.name, v)}
	var items []named
	replaced := false
	for _, name := range fieldNames(n.in.schema()) {
		if name == n.name {
			items, replaced = append(items, value), true
			continue
		}
		items = append(items, named{name, expr.Col(name)})
	}
	if !replaced {
		items = append(items, value)
	}
	return items
}

func (n *scalarNode) schema() *arrow.Schema { return n.out }
func (n *scalarNode) inputs() []node        { return []node{n.in, n.one} }
func (n *scalarNode) withInputs(in []node) node {
	return &scalarNode{in: in[0], one: in[1], name: n.name, out: n.out}
}

// The rest of node is never asked of a scalarNode: settle replaces it.

func (n *scalarNode) text() string                         { return "scalar " + n.name }
func (n *scalarNode) push([]*expr.Expr) node               { return n }
func (n *scalarNode) prune(names) node                     { return n }
func (n *scalarNode) compile(*runner) (exec.Source, error) { return n.in.compile(nil) }

// settle puts constants in place of the scalars of a resolved plan, those of the
// plans that give them first.
func settle(n node, valueOf func(*scalarNode) (kernels.Scalar, error)) (node, error) {
	ins := n.inputs()
	if len(ins) == 0 {
		return n, nil
	}
	settled := make([]node, len(ins))
	changed := false
	for i, in := range ins {
		var err error
		if settled[i], err = settle(in, valueOf); err != nil {
			return nil, err
		}
		changed = changed || settled[i] != in
	}
	if changed {
		n = n.withInputs(settled)
	}
	s, ok := n.(*scalarNode)
	if !ok {
		return n, nil
	}
	v, err := valueOf(s)
	if err != nil {
		return nil, s.wrap(err)
	}
	return &projectNode{in: s.in, items: s.items(v), out: s.out}, nil
}

// unknownScalar stands for values in plans that are not run.
func unknownScalar(n *scalarNode) (kernels.Scalar, error) { return kernels.Null(n.typ()), nil }

// scalar runs the plan of a scalar.
func (r *runner) scalar(ctx context.Context, o *optimiser, n *scalarNode) (kernels.Scalar, error) {
	plan, err := r.plan("scalar "+n.name, o.optimise(n.plan()))
	if err != nil {
		return kernels.Scalar{}, err
	}
	defer plan.Close()
	value, rows := kernels.Null(n.typ()), int64(0)
	for {
		b, err := r.next(ctx, plan)
		if err == io.EOF {
			return value, nil
		}
		if err != nil {
			return kernels.Scalar{}, err
		}
		if rows += b.Len(); rows > 1 {
			b.Release()
			return kernels.Scalar{}, fmt.Errorf("%w: the other query gives more than one row", device.ErrValue)
		}
		if b.Len() == 1 {
			value, err = r.first(ctx, b.Columns()[0], n.typ())
		}
		b.Release()
		if err != nil {
			return kernels.Scalar{}, err
		}
	}
}

// first is the value of a column's first row, in type t.
func (r *runner) first(ctx context.Context, c *memory.Column, t arrow.DataType) (kernels.Scalar, error) {
	if !arrow.TypeEqual(c.Type(), t) {
		plain, err := r.backend.Cast(ctx, r.stream, c, t, kernels.CastOptions{})
		if err != nil {
			return kernels.Scalar{}, err
		}
		defer plain.Release()
		c = plain
	}
	return r.backend.Scalar(ctx, r.stream, c, 0)
}
