package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// EvaluateFunc computes a Program over columns of rows rows, all results in one
// pass over memory, with the answers that the kernels give one after another;
// the text of an ErrValue may differ. Its types are those of the values.
//
// An ErrUnsupported says that this device cannot compute programs (it has no
// compiler, say): the caller then runs the kernels.
type EvaluateFunc func(ctx context.Context, s device.Stream, p *Program, rows int64, columns []*memory.Column) ([]*memory.Column, error)

// Evaluate computes a Program over columns, which have rows rows each and are of
// the types of its StepColumns; those that no step reads may be nil. Steps that
// Step.Takes refuses are an ErrUnsupported. There is one result for each of
// p.Results.
func (b *Backend) Evaluate(ctx context.Context, s device.Stream, p *Program, rows int64, columns []*memory.Column) (out []*memory.Column, err error) {
	const call = "evaluate"
	defer b.guard(call, &err)
	var read []*memory.Column
	for i, step := range p.Steps {
		if step.Kind != StepColumn {
			continue
		}
		if step.Column < 0 || step.Column >= len(columns) || columns[step.Column] == nil {
			return nil, b.fail(device.ErrMismatch, call, "step %d reads column %d, which is not given", i, step.Column)
		}
		c := columns[step.Column]
		if c.Len() != rows {
			return nil, b.fail(device.ErrMismatch, call, "column %d has %d rows, not %d", step.Column, c.Len(), rows)
		}
		if _, decimal := step.Type.(*arrow.Decimal128Type); c.Type().ID() != step.Type.ID() || decimal && !arrow.TypeEqual(c.Type(), step.Type) {
			return nil, b.fail(device.ErrMismatch, call, "column %d is of type %s, step %d reads %s", step.Column, c.Type(), i, step.Type)
		}
		read = append(read, c)
	}
	e := b.Set.Evaluate
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types, read...); err != nil {
		return nil, err
	}
	if err := b.checkSteps(call, p); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, p, rows, columns)
}

func (b *Backend) checkSteps(call string, p *Program) error {
	for i, step := range p.Steps {
		if step.Type == nil {
			return b.fail(device.ErrMismatch, call, "step %d has no type", i)
		}
		types := step.typesOf(p, i)
		if len(types) != len(step.Args) {
			return b.fail(device.ErrMismatch, call, "step %d comes before an operand", i)
		}
		if want := step.operands(); want != len(types) {
			return b.fail(device.ErrMismatch, call, "step %d has %d operands, not %d", i, len(types), want)
		}
		if !b.Computes(step, types...) {
			return b.fail(device.ErrUnsupported, call, "step %d computes %s of %v", i, step.Type, types)
		}
	}
	for _, r := range p.Results {
		if r < 0 || r >= len(p.Steps) {
			return b.fail(device.ErrMismatch, call, "result of step %d of %d", r, len(p.Steps))
		}
	}
	return nil
}

// Computes reports whether Evaluate takes a step, given the types of its operands: those
// of ProgramTypes, whatever columns it reads, and others that its entry has.
func (b *Backend) Computes(step Step, args ...arrow.DataType) bool {
	e := b.Set.Evaluate
	for _, t := range step.types(args) {
		if e.Func == nil || !(ProgramTypes | e.Types).Has(t.ID()) {
			return false
		}
	}
	return step.Takes(args...)
}

// EvaluateSteps computes a Program that Evaluate takes with the kernels of the
// backend, which is one of the host's, one after another: each over all rows. It
// is what tells the row that has no value.
func (b *Backend) EvaluateSteps(ctx context.Context, s device.Stream, p *Program, rows int64, columns []*memory.Column) (out []*memory.Column, err error) {
	values := make([]*memory.Column, len(p.Steps))
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
	for i, step := range p.Steps {
		if values[i], err = b.runStep(ctx, s, step, rows, values, columns); err != nil {
			return nil, err
		}
	}
	for _, r := range p.Results {
		out = append(out, values[r].Retain())
	}
	return out, nil
}

// runStep is one step by the kernel of its kind.
func (b *Backend) runStep(ctx context.Context, s device.Stream, step Step, rows int64, values, columns []*memory.Column) (*memory.Column, error) {
	args := make([]Datum, len(step.Args))
	var first *memory.Column
	for i, a := range step.Args {
		args[i] = values[a]
		if i == 0 {
			first = values[a]
		}
	}
	o := ArithmeticOptions{Checked: step.Checked}
	switch step.Kind {
	case StepColumn:
		return columns[step.Column].Retain(), nil
	case StepScalar:
		return BuildColumn(ctx, s, step.Type, rows, func(int64) (Scalar, error) { return step.Value, nil })
	case StepArithmetic:
		return b.Arithmetic(ctx, s, ArithmeticOp(step.Op), args[0], args[1], o)
	case StepUnary:
		return b.Unary(ctx, s, UnaryOp(step.Op), first, o)
	case StepTemporal:
		return b.Temporal(ctx, s, TemporalField(step.Op), first)
	case StepCompare:
		return b.Compare(ctx, s, CompareOp(step.Op), args[0], args[1])
	case StepLogic:
		return b.Logic(ctx, s, LogicOp(step.Op), args[0], args[1])
	case StepNot:
		return b.Not(ctx, s, first)
	case StepIsNull:
		return b.IsNull(ctx, s, NullTest(step.Op), first)
	case StepFillNull:
		return b.FillNull(ctx, s, first, args[1])
	case StepIfElse:
		return b.IfElse(ctx, s, first, args[1], args[2])
	case StepCast:
		return b.Cast(ctx, s, first, step.Type, CastOptions{Wrap: step.Wrap})
	case StepApply:
		return b.Apply(ctx, s, step.Function, args)
	}
	return nil, unsupported("step kind %d", int(step.Kind))
}
