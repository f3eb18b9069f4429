package expr

import (
	"context"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// step computes one step from its operands, at least one of them a column.
func (e *evaluation) step(ctx context.Context, i int, rows int64, args []kernels.Datum) (*memory.Column, error) {
	n, k, s := e.bound.nodes[i], e.backend, e.stream
	if n.kind == KindCast {
		return k.Cast(ctx, s, args[0].(*memory.Column), n.typ, kernels.CastOptions{Wrap: n.wrap})
	}
	op := n.op
	switch {
	case op.isArithmetic():
		kop, o := op.arithmetic()
		return k.Arithmetic(ctx, s, kop, args[0], args[1], o)
	case op.isCompare():
		return k.Compare(ctx, s, kernels.CompareOp(op-OpEq), args[0], args[1])
	case op.isLogic():
		return k.Logic(ctx, s, kernels.LogicOp(op-OpAnd), args[0], args[1])
	case op.isUnary():
		return k.Unary(ctx, s, kernels.UnaryOp(op-OpNeg), args[0].(*memory.Column), kernels.ArithmeticOptions{})
	case op.isMatch():
		return k.Match(ctx, s, kernels.MatchOp(op-OpContains), args[0].(*memory.Column), args[1].(kernels.Scalar).Text())
	case op.isTemporal():
		return k.Temporal(ctx, s, kernels.TemporalField(op-OpYear), args[0].(*memory.Column))
	}
	switch op {
	case OpSubstring:
		return k.Substring(ctx, s, args[0].(*memory.Column), args[1].(kernels.Scalar).Int64(), args[2].(kernels.Scalar).Int64())
	case OpNot:
		return k.Not(ctx, s, args[0].(*memory.Column))
	case OpIsNull, OpIsNotNull, OpIsNaN:
		return k.IsNull(ctx, s, kernels.NullTest(op-OpIsNull), args[0].(*memory.Column))
	case OpIn:
		return e.sets[i].IsIn(ctx, s, args[0].(*memory.Column))
	case OpAmong:
		return e.among(ctx, i, args[0].(*memory.Column))
	case OpApply:
		return k.Apply(ctx, s, n.fn, args)
	case OpIfElse:
		return e.choose(ctx, n, rows, args[0], args[1], args[2])
	case OpCoalesce:
		return e.coalesce(ctx, n, rows, args)
	default:
		return e.cases(ctx, n, rows, args)
	}
}

// among is the answer of SQL's in to whether values are in the set of step i.
func (e *evaluation) among(ctx context.Context, i int, c *memory.Column) (*memory.Column, error) {
	found, err := e.sets[i].IsIn(ctx, e.stream, c)
	if err != nil {
		return nil, err
	}
	unknown := kernels.Null(boolean)
	if e.bound.nodes[i].null { // what was not found may equal the null
		defer found.Release()
		return e.backend.IfElse(ctx, e.stream, found, kernels.Bool(true), unknown)
	}
	if !c.MayHaveNulls() {
		return found, nil
	}
	defer found.Release()
	value, err := e.backend.IsNull(ctx, e.stream, kernels.IsValidTest, c)
	if err != nil {
		return nil, err
	}
	defer value.Release()
	return e.backend.IfElse(ctx, e.stream, value, found, unknown)
}

// column is a Datum as a column that the caller releases.
func (e *evaluation) column(ctx context.Context, d kernels.Datum, n node, rows int64) (*memory.Column, error) {
	if c, ok := d.(*memory.Column); ok {
		return c.Retain(), nil
	}
	v := d.(kernels.Scalar)
	return e.repeat(ctx, v, v.Type(), rows)
}

// choose is a where cond is true, b where it is false.
func (e *evaluation) choose(ctx context.Context, n node, rows int64, cond, a, b kernels.Datum) (*memory.Column, error) {
	mask, err := e.column(ctx, cond, n, rows)
	if err != nil {
		return nil, err
	}
	defer mask.Release()
	return e.backend.IfElse(ctx, e.stream, mask, a, b)
}

// coalesce fills the nulls of the first operand from the next, and so on.
func (e *evaluation) coalesce(ctx context.Context, n node, rows int64, args []kernels.Datum) (*memory.Column, error) {
	out, err := e.column(ctx, args[0], n, rows)
	for _, a := range args[1:] {
		if err != nil {
			return nil, err
		}
		if !out.MayHaveNulls() {
			return out, nil
		}
		before := out
		out, err = e.backend.FillNull(ctx, e.stream, before, a)
		before.Release()
	}
	return out, err
}

// cases goes through the conditions from the last to the first.
func (e *evaluation) cases(ctx context.Context, n node, rows int64, args []kernels.Datum) (*memory.Column, error) {
	last := len(args) - 1
	rest := args[last]
	var held *memory.Column
	for i := last - 2; i >= 0; i -= 2 {
		cond, err := e.column(ctx, args[i], n, rows)
		if err == nil {
			surely := cond
			surely, err = e.backend.FillNull(ctx, e.stream, cond, kernels.Bool(false))
			cond.Release()
			cond = surely
		}
		var out *memory.Column
		if err == nil {
			out, err = e.backend.IfElse(ctx, e.stream, cond, args[i+1], rest)
			cond.Release()
		}
		held.Release()
		if err != nil {
			return nil, err
		}
		held, rest = out, out
	}
	return held, nil
}
