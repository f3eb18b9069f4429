package expr

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// fuseRows is the number of rows from which an expression is worth a kernel of
// its own: compiling one takes a device's compiler from 50 ms to a second the
// first time, in which it moves a few GB.
var fuseRows int64 = 1 << 18

// hostFuseRows is that number on the host, where nothing is compiled: what a plan
// of the steps costs is a few microseconds.
const hostFuseRows = 1 << 10

// fuses reports whether steps are put together into programs: where the backend
// computes programs and there are rows enough.
func (e *evaluation) fuses(rows int64) bool {
	from := fuseRows
	if e.backend.Device.Place() == memory.Host && !e.chooses() {
		from = min(from, hostFuseRows)
	}
	return e.backend.Set.Evaluate.Func != nil && rows >= from
}

// chooses reports whether a step takes one column's values or another's. On the
// host its loop waits for memory at the start of each of a program's short blocks,
// which costs a third more processor time than long runs do.
func (e *evaluation) chooses() bool {
	for i, n := range e.bound.nodes {
		if n.kind == KindCall && e.known[i] == nil && (n.op == OpIfElse || n.op == OpCase || n.op == OpCoalesce) {
			return true
		}
	}
	return false
}

// onlyPrograms reports whether programs compute every step of so many rows and
// gain by it: then they cut them into runs themselves.
func (e *evaluation) onlyPrograms(rows int64) bool {
	if e.chooses() {
		return false
	}
	for i, n := range e.bound.nodes {
		if n.kind != KindColumn && e.known[i] == nil && !e.fusable(n) {
			return false
		}
	}
	return e.fuses(rows)
}

// fusion is one call of fused.
type fusion struct {
	*evaluation
	rows    int64
	values  []*memory.Column // of the nodes that are computed
	fusable []bool
}

// fused computes the results with as few passes over memory as there can be: the
// steps that a Program takes are programs, from those that no program computes to
// the next such, and to the results.
func (e *evaluation) fused(ctx context.Context, rows int64, columns []*memory.Column) (out []*memory.Column, err error) {
	nodes := e.bound.nodes
	f := &fusion{e, rows, make([]*memory.Column, len(nodes)), make([]bool, len(nodes))}
	defer func() {
		for _, v := range f.values {
			v.Release()
		}
	}()
	before := make([]bool, len(nodes)) // read by a step that no program computes
	for i, n := range nodes {
		f.fusable[i] = e.known[i] == nil && e.fusable(n)
		if n.kind == KindCall || n.kind == KindCast {
			for _, a := range n.args {
				before[a] = before[a] || !f.fusable[i]
			}
		}
	}
	for i, n := range nodes {
		switch {
		case e.known[i] != nil:
		case n.kind == KindColumn:
			f.values[i] = columns[n.column].Retain()
		case !f.fusable[i]:
			f.values[i], err = f.single(ctx, i)
		case before[i]:
			err = f.compute(ctx, []int{i})
		}
		if err != nil {
			return nil, err
		}
	}
	var last []int
	for _, r := range e.bound.roots {
		if e.known[r] == nil && f.values[r] == nil {
			last = append(last, r)
		}
	}
	if err := f.compute(ctx, last); err != nil {
		return nil, err
	}
	return e.results(ctx, rows, f.values)
}

// single is a step by its kernel.
func (f *fusion) single(ctx context.Context, i int) (*memory.Column, error) {
	n := f.bound.nodes[i]
	args := make([]kernels.Datum, len(n.args))
	for k, a := range n.args {
		if args[k] = f.values[a]; f.known[a] != nil {
			args[k] = *f.known[a]
		}
	}
	return f.step(ctx, i, f.rows, args)
}

// compute computes nodes with one program, or where that would be a single step
// with its kernel.
func (f *fusion) compute(ctx context.Context, nodes []int) error {
	if len(nodes) == 0 {
		return nil
	}
	b := programBuilder{fusion: f, at: map[int]int{}}
	for _, i := range nodes {
		b.p.Results = append(b.p.Results, b.node(i))
	}
	if b.steps == 1 {
		v, err := f.single(ctx, nodes[0])
		f.values[nodes[0]] = v
		return err
	}
	out, err := f.backend.Evaluate(ctx, f.stream, &b.p, f.rows, b.columns)
	if err != nil {
		return err
	}
	for k, i := range nodes {
		if f.values[i] != nil { // two results may be one node
			out[k].Release()
			continue
		}
		f.values[i] = out[k]
	}
	return nil
}

// programBuilder turns nodes into steps.
type programBuilder struct {
	*fusion
	p       kernels.Program
	columns []*memory.Column
	at      map[int]int // the step of a node
	steps   int         // that compute
}

func (b *programBuilder) add(s kernels.Step) int {
	if s.Kind != kernels.StepColumn && s.Kind != kernels.StepScalar {
		b.steps++
	}
	b.p.Steps = append(b.p.Steps, s)
	return len(b.p.Steps) - 1
}

// node is the step of a node, added if there is none yet.
func (b *programBuilder) node(i int) int {
	if s, ok := b.at[i]; ok {
		return s
	}
	n := b.bound.nodes[i]
	var s int
	switch {
	case b.known[i] != nil:
		s = b.add(kernels.Step{Kind: kernels.StepScalar, Value: *b.known[i], Type: n.typ})
	case b.values[i] != nil:
		b.columns = append(b.columns, b.values[i])
		s = b.add(kernels.Step{Kind: kernels.StepColumn, Column: len(b.columns) - 1, Type: n.typ})
	default:
		args := make([]int, len(n.args))
		for k, a := range n.args {
			args[k] = b.node(a)
		}
		s = b.call(n, args)
	}
	b.at[i] = s
	return s
}

// call adds the steps of a call or a cast.
func (b *programBuilder) call(n node, args []int) int {
	fill := func(x, y int) int {
		return b.add(kernels.Step{Kind: kernels.StepFillNull, Args: []int{x, y}, Type: b.p.Steps[x].Type})
	}
	switch {
	case n.kind == KindCall && n.op == OpCoalesce:
		s := args[0]
		for _, a := range args[1:] {
			s = fill(s, a)
		}
		return s
	case n.kind == KindCall && n.op == OpCase:
		no := b.add(kernels.Step{Kind: kernels.StepScalar, Value: kernels.Bool(false), Type: boolean})
		s := args[len(args)-1]
		for k := len(args) - 3; k >= 0; k -= 2 {
			s = b.add(kernels.Step{Kind: kernels.StepIfElse, Args: []int{fill(args[k], no), args[k+1], s}, Type: n.typ})
		}
		return s
	}
	s, _ := stepOf(n)
	s.Args = args
	return b.add(s)
}

// stepOf is the step of a node that is one, without its operands.
func stepOf(n node) (kernels.Step, bool) {
	s := kernels.Step{Type: n.typ}
	if n.kind == KindCast {
		s.Kind, s.Wrap = kernels.StepCast, n.wrap
		return s, true
	}
	switch op := n.op; {
	case op.isArithmetic():
		kop, o := op.arithmetic()
		s.Kind, s.Op, s.Checked = kernels.StepArithmetic, int(kop), o.Checked
	case op.isCompare():
		s.Kind, s.Op = kernels.StepCompare, int(op-OpEq)
	case op.isLogic():
		s.Kind, s.Op = kernels.StepLogic, int(op-OpAnd)
	case op.isUnary():
		s.Kind, s.Op = kernels.StepUnary, int(op-OpNeg)
	case op.isTemporal():
		s.Kind, s.Op = kernels.StepTemporal, int(op-OpYear)
	case op == OpNot:
		s.Kind = kernels.StepNot
	case op == OpIsNull || op == OpIsNotNull || op == OpIsNaN:
		s.Kind, s.Op = kernels.StepIsNull, int(op-OpIsNull)
	case op == OpIfElse:
		s.Kind = kernels.StepIfElse
	case op == OpApply && n.fn.Source() != "":
		s.Kind, s.Function = kernels.StepApply, n.fn
	default:
		return s, false
	}
	return s, true
}

// fusable reports whether a program takes the node's steps.
func (e *evaluation) fusable(n node) bool {
	if n.kind != KindCall && n.kind != KindCast {
		return false
	}
	types := make([]arrow.DataType, len(n.args))
	for i, a := range n.args {
		types[i] = e.bound.nodes[a].typ
		if !e.backend.Set.Evaluate.Types.Has(types[i].ID()) {
			return false
		}
	}
	if n.kind == KindCall && (n.op == OpCoalesce || n.op == OpCase) {
		return e.backend.Set.Evaluate.Types.Has(n.typ.ID())
	}
	s, ok := stepOf(n)
	return ok && e.backend.Computes(s, types...)
}
