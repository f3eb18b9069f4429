package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Eval computes the first result for rows rows. columns stand as in the schema
// that was bound; those that are not in Reads may be nil. On the host, several
// operations are done in runs of rows that fit a core's cache, on all cores.
func (b *Bound) Eval(ctx context.Context, k *kernels.Backend, s device.Stream, rows int64, columns []*memory.Column) (*memory.Column, error) {
	all, err := b.EvalAll(ctx, k, s, rows, columns)
	if err != nil {
		return nil, err
	}
	for _, c := range all[1:] {
		c.Release()
	}
	return all[0], nil
}

// EvalAll computes every result as Eval does the first.
func (b *Bound) EvalAll(ctx context.Context, k *kernels.Backend, s device.Stream, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
	if err := b.check(rows, columns); err != nil {
		return nil, err
	}
	p, err := b.Prepare(ctx, k, s)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return p.e.evalAll(ctx, rows, columns)
}

// evalAll computes all results, in runs where that gains.
func (e *evaluation) evalAll(ctx context.Context, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
	if e.inRuns(rows) && !e.onlyPrograms(rows) {
		out, err := e.runs(ctx, rows, columns)
		if !errors.Is(err, device.ErrValue) {
			return out, err
		}
		// A row was refused: do it again in one piece, so that the error counts
		// rows from the first.
	}
	return e.evalFused(ctx, rows, columns)
}

// evalFused computes all results for the rows in one piece, with programs where
// they gain.
func (e *evaluation) evalFused(ctx context.Context, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
	if e.fuses(rows) {
		out, err := e.fused(ctx, rows, columns)
		if !errors.Is(err, device.ErrValue) && !errors.Is(err, device.ErrUnsupported) {
			return out, err
		}
		// A row was refused, which the kernels name; or the device compiles nothing.
	}
	return e.eval(ctx, rows, columns)
}

// check holds the columns against what was bound.
func (b *Bound) check(rows int64, columns []*memory.Column) error {
	for _, i := range b.reads {
		f := b.schema.Field(i)
		if i >= len(columns) || columns[i] == nil {
			return fmt.Errorf("%w: column %q is missing", device.ErrMismatch, f.Name)
		}
		if c := columns[i]; c.Len() != rows || !arrow.TypeEqual(c.Type(), f.Type) {
			return fmt.Errorf("%w: column %q is %d values of %s, not %d of %s", device.ErrMismatch, f.Name, c.Len(), c.Type(), rows, f.Type)
		}
	}
	return nil
}

// evaluation is one call of EvalAll.
type evaluation struct {
	bound   *Bound
	backend *kernels.Backend
	stream  device.Stream
	known   []*kernels.Scalar       // the value of each step that reads no column
	sets    map[int]kernels.Members // of the steps that are an "in"
}

func (e *evaluation) release() {
	for _, m := range e.sets {
		m.Release()
	}
}

// constants computes the steps that read no column, on one row, and the lists
// of "in".
func (e *evaluation) constants(ctx context.Context) error {
	e.known = make([]*kernels.Scalar, len(e.bound.nodes))
	e.sets = map[int]kernels.Members{}
	for i, n := range e.bound.nodes {
		if n.kind == KindLiteral {
			e.known[i] = &e.bound.nodes[i].value
			continue
		}
		if n.kind == KindCall && n.op.isIn() {
			if err := e.set(ctx, i, n); err != nil {
				return e.bound.named(n, err)
			}
		}
		fixed := n.kind != KindColumn
		for _, a := range n.args {
			fixed = fixed && e.known[a] != nil
		}
		if !fixed {
			continue
		}
		args := make([]kernels.Datum, len(n.args))
		for k, a := range n.args {
			args[k] = *e.known[a]
		}
		c, err := e.one(ctx, i, args)
		if err != nil {
			return e.bound.named(n, err)
		}
		v, err := e.backend.Scalar(ctx, e.stream, c, 0)
		c.Release()
		if err != nil {
			return err
		}
		e.known[i] = &v
	}
	return nil
}

// named puts the expression of a step to the error of a value that is refused, and of
// what the device has not got.
func (b *Bound) named(n node, err error) error {
	if n.of == nil || !errors.Is(err, device.ErrValue) && !errors.Is(err, device.ErrUnsupported) {
		return err
	}
	err = kernels.Lacking(err, func(*kernels.LackError) string { return b.operation(n) })
	return fmt.Errorf("%s%s: %w", n.of, at(n.of), err)
}

// operation is what a step does to which operands: `cast of column "s" of type utf8 to int64`.
func (b *Bound) operation(n node) string {
	operands := make([]string, len(n.args))
	for i, a := range n.args {
		if of := b.nodes[a].of; of != nil {
			operands[i] = shown(of, b.nodes[a].typ)
		} else {
			operands[i] = "a value of type " + TypeName(b.nodes[a].typ)
		}
	}
	if n.kind == KindCast {
		return fmt.Sprintf("cast of %s to %s", operands[0], TypeName(n.typ))
	}
	return fmt.Sprintf("%s of %s", n.op, strings.Join(operands, " and "))
}

// set builds the set of an "in".
func (e *evaluation) set(ctx context.Context, i int, n node) error {
	c, err := e.backend.FromScalars(ctx, e.stream, e.bound.nodes[n.args[0]].typ, n.set)
	if err != nil {
		return err
	}
	defer c.Release()
	m, err := e.backend.Members(ctx, e.stream, c)
	if err == nil {
		e.sets[i] = m
	}
	return err
}

// one computes a step of scalars: the first as a column of one row.
func (e *evaluation) one(ctx context.Context, i int, args []kernels.Datum) (*memory.Column, error) {
	first := args[0].(kernels.Scalar)
	c, err := e.backend.FromScalars(ctx, e.stream, first.Type(), []kernels.Scalar{first})
	if err != nil {
		return nil, err
	}
	defer c.Release()
	args[0] = c
	return e.step(ctx, i, 1, args)
}

// eval computes all results for the rows in one piece.
func (e *evaluation) eval(ctx context.Context, rows int64, columns []*memory.Column) (out []*memory.Column, err error) {
	nodes := e.bound.nodes
	values := make([]*memory.Column, len(nodes))
	uses := make([]int, len(nodes))
	defer func() {
		for _, v := range values {
			v.Release()
		}
		if err != nil {
			for _, c := range out {
				c.Release()
			}
			out = nil
		}
	}()
	for i, n := range nodes {
		uses[i] = n.uses
		if e.known[i] != nil {
			continue
		}
		if n.kind == KindColumn {
			values[i] = columns[n.column].Retain()
			continue
		}
		args := make([]kernels.Datum, len(n.args))
		for k, a := range n.args {
			if args[k] = values[a]; e.known[a] != nil {
				args[k] = *e.known[a]
			}
		}
		if values[i], err = e.step(ctx, i, rows, args); err != nil {
			return nil, e.bound.named(n, err)
		}
		for _, a := range n.args {
			if uses[a]--; uses[a] == 0 {
				values[a].Release()
				values[a] = nil
			}
		}
	}
	return e.results(ctx, rows, values)
}

// results are the columns of the roots, from the values of the nodes.
func (e *evaluation) results(ctx context.Context, rows int64, values []*memory.Column) (out []*memory.Column, err error) {
	defer func() {
		if err != nil {
			for _, c := range out {
				c.Release()
			}
			out = nil
		}
	}()
	for _, r := range e.bound.roots {
		var c *memory.Column
		if e.known[r] != nil {
			c, err = e.repeat(ctx, *e.known[r], e.bound.nodes[r].typ, rows)
		} else {
			c = values[r].Retain()
		}
		if err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

// repeat is a column of one value over and over.
func (e *evaluation) repeat(ctx context.Context, v kernels.Scalar, t arrow.DataType, rows int64) (*memory.Column, error) {
	if t.ID() == arrow.NULL {
		return memory.NewColumn(memory.Parts{Type: t, Len: rows, Nulls: rows, Place: e.backend.Device.Place()})
	}
	one, err := e.backend.FromScalars(ctx, e.stream, t, []kernels.Scalar{v})
	if err != nil {
		return nil, err
	}
	defer one.Release()
	zeros, err := e.zeros(rows)
	if err != nil {
		return nil, err
	}
	indices, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Uint8, Len: rows, Buffers: []*memory.Buffer{nil, zeros}})
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	return e.backend.Take(ctx, e.stream, one, indices, kernels.TakeOptions{Trusted: true})
}

// zeros is a buffer of n zero bytes.
func (e *evaluation) zeros(n int64) (*memory.Buffer, error) {
	alloc := e.backend.Device.Memory()
	if alloc.Place().HostAccessible() {
		return memory.NewZeroed(alloc, n)
	}
	b, err := memory.New(alloc, n)
	if err == nil {
		if err = e.stream.Fill(b, 0, n, 0); err != nil {
			b.Release()
			return nil, err
		}
	}
	return b, err
}
