package kerneltest

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// evaluate holds random programs against their steps one after another. There is
// a program for each type, since a device may take a second to compile one.
func evaluate(s *Suite) {
	drawn, typeOf := map[string]*kernels.Program{}, map[arrow.Type]arrow.DataType{}
	for c := range s.Cases(kernels.StepTypes) {
		if first := typeOf[c.Type.ID()]; first == nil {
			typeOf[c.Type.ID()] = c.Type
		} else if s.extent != Full && !arrow.TypeEqual(first, c.Type) {
			continue // another unit, the same integers
		}
		c.Domain = Small
		p := drawn[c.Type.String()]
		if p == nil || s.extent == Full && c.Length == 33 {
			p = drawProgram(s, c)
			drawn[c.Type.String()] = p
		}
		call, run := programCall(s, c, p)
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long() {
			for range 20 { // until a program refuses no row
				r, err := s.reference.call(context.Background(), run)
				if err == nil {
					r.Release()
					s.Faults(call, run)
					break
				}
				call, run = programCall(s, c, drawProgram(s, c))
				s.Check(call, run)
			}
		}
	}
	evaluateRefuses(s)
}

// programCall is a call of a program over columns of c's shape.
func programCall(s *Suite, c Case, p *kernels.Program) (Call, func(*Env) (Result, error)) {
	var names []string
	for i, st := range p.Steps {
		names = append(names, stepName(i, st))
	}
	return Call{Case: c, Note: strings.Join(names, "; "), Tol: Tolerance{Rel: 1e-15}}, evaluated(p, c.Length, programColumns(s, c, p))
}

func evaluated(p *kernels.Program, rows int64, columns []*memory.Column) func(*Env) (Result, error) {
	return func(e *Env) (Result, error) {
		return resultsOf(e.Evaluate(e.Ctx, e.Stream, p, rows, e.onAll(columns)))
	}
}

// programDraw is a program that is being drawn.
type programDraw struct {
	*Suite
	p kernels.Program
}

// programColumns makes columns of c's shape for a program. But for the first of
// one type they all have bitmaps: which columns have is part of a compiled
// program.
func programColumns(s *Suite, c Case, p *kernels.Program) []*memory.Column {
	var columns []*memory.Column
	for _, st := range p.Steps {
		if st.Kind != kernels.StepColumn {
			continue
		}
		with := c
		if len(columns) > 0 {
			with = s.Another(c)
		}
		if with.Nulls == NoBitmap && (len(columns) > 0 || s.extent != Full && c.Type.ID() != arrow.INT64) {
			with.Nulls = Half
		}
		with.Type = st.Type
		columns = append(columns, s.Column(with))
	}
	return columns
}

// drawProgram draws a program over columns, the first of c's type.
func drawProgram(s *Suite, c Case) *kernels.Program {
	d := &programDraw{Suite: s}
	types := s.Types(kernels.StepTypes)
	for i := range 2 + s.Rand.IntN(3) {
		t := c.Type
		if i > 0 && s.Rand.IntN(2) == 0 {
			t = types[s.Rand.IntN(len(types))]
		}
		d.p.Steps = append(d.p.Steps, kernels.Step{Kind: kernels.StepColumn, Column: i, Type: t})
	}
	v := s.Scalar(c.Type, c.Domain)
	d.p.Steps = append(d.p.Steps, kernels.Step{Kind: kernels.StepScalar, Value: v, Type: c.Type})
	want := len(d.p.Steps) + 1 + s.Rand.IntN(6)
	for range 400 {
		if len(d.p.Steps) == want {
			break
		}
		d.step()
	}
	d.p.Results = []int{len(d.p.Steps) - 1}
	if s.Rand.IntN(2) == 0 {
		d.p.Results = append(d.p.Results, s.Rand.IntN(len(d.p.Steps)))
	}
	return &d.p
}

// step adds a step if the drawn operation is defined for the drawn operands.
func (d *programDraw) step() {
	st := kernels.Step{Kind: kernels.StepArithmetic + kernels.StepKind(d.Rand.IntN(int(kernels.StepCast-kernels.StepArithmetic)+1))}
	arg := func() int { return d.Rand.IntN(len(d.p.Steps)) }
	typ := func(i int) arrow.DataType { return d.p.Steps[i].Type }
	a, b, c := arg(), arg(), arg()
	var err error
	switch st.Kind {
	case kernels.StepArithmetic:
		st.Op, st.Args, st.Checked = d.Rand.IntN(5), []int{a, b}, d.Rand.IntN(4) == 0
		st.Type, err = kernels.ArithmeticType(kernels.ArithmeticOp(st.Op), typ(a), typ(b))
	case kernels.StepUnary:
		st.Op, st.Args, st.Checked = d.Rand.IntN(int(kernels.Round)+1), []int{a}, d.Rand.IntN(4) == 0
		st.Type, err = kernels.UnaryType(kernels.UnaryOp(st.Op), typ(a))
	case kernels.StepCompare:
		st.Op, st.Args = d.Rand.IntN(6), []int{a, b}
		st.Type, err = kernels.CompareType(kernels.CompareOp(st.Op), typ(a), typ(b))
	case kernels.StepLogic:
		st.Op, st.Args = d.Rand.IntN(4), []int{a, b}
		st.Type, err = kernels.LogicType(kernels.LogicOp(st.Op), typ(a), typ(b))
	case kernels.StepNot:
		st.Args, st.Type = []int{a}, typ(a)
		if st.Type.ID() != arrow.BOOL {
			return
		}
	case kernels.StepIsNull:
		st.Op, st.Args, st.Type = d.Rand.IntN(3), []int{a}, arrow.FixedWidthTypes.Boolean
	case kernels.StepFillNull:
		st.Args = []int{a, b}
		st.Type, err = kernels.MixType(typ(a), typ(b))
	case kernels.StepIfElse:
		st.Args = []int{c, a, b}
		if typ(c).ID() != arrow.BOOL {
			return
		}
		st.Type, err = kernels.MixType(typ(a), typ(b))
	case kernels.StepCast:
		types := d.Types(kernels.NumberTypes | kernels.DecimalTypes)
		st.Args, st.Type, st.Wrap = []int{a}, types[d.Rand.IntN(len(types))], d.Rand.IntN(4) > 0
	default:
		return
	}
	if err != nil {
		return
	}
	var types []arrow.DataType
	for _, i := range st.Args {
		types = append(types, typ(i))
	}
	if st.Takes(types...) {
		d.p.Steps = append(d.p.Steps, st)
	}
}

func evaluateRefuses(s *Suite) {
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	column := s.FromScalars(i64, kernels.Int64(1))
	columnStep := kernels.Step{Kind: kernels.StepColumn, Type: i64}
	for note, bad := range map[string]struct {
		p    kernels.Program
		rows int64
		text string
	}{
		"rows":         {kernels.Program{Steps: []kernels.Step{columnStep}}, 2, "1 rows"},
		"no column":    {kernels.Program{Steps: []kernels.Step{{Kind: kernels.StepColumn, Column: 1, Type: i64}}}, 1, "column 1"},
		"later":        {kernels.Program{Steps: []kernels.Step{columnStep, {Kind: kernels.StepIsNull, Args: []int{1}, Type: i64}}}, 1, "step 1"},
		"operands":     {kernels.Program{Steps: []kernels.Step{columnStep, {Kind: kernels.StepCompare, Args: []int{0}, Type: i64}}}, 1, "2"},
		"result":       {kernels.Program{Steps: []kernels.Step{columnStep}, Results: []int{1}}, 1, "step 1"},
		"text":         {kernels.Program{Steps: []kernels.Step{columnStep, {Kind: kernels.StepCast, Args: []int{0}, Type: text}}}, 1, "utf8"},
		"another type": {kernels.Program{Steps: []kernels.Step{{Kind: kernels.StepColumn, Type: arrow.PrimitiveTypes.Float64}}}, 1, "float64"},
	} {
		s.refuses(note, evaluated(&bad.p, bad.rows, []*memory.Column{column}), bad.text)
	}
}

func benchEvaluate(b *Bencher) {
	f64 := arrow.PrimitiveTypes.Float64
	x, y := b.Column(f64, Small, 0), b.Column(f64, Small, 10)
	p := &kernels.Program{Steps: []kernels.Step{
		{Kind: kernels.StepColumn, Type: f64}, {Kind: kernels.StepColumn, Column: 1, Type: f64},
		{Kind: kernels.StepScalar, Value: kernels.Float64(0.5), Type: f64},
		{Kind: kernels.StepArithmetic, Op: int(kernels.Multiply), Args: []int{0, 2}, Type: f64},
		{Kind: kernels.StepArithmetic, Op: int(kernels.Add), Args: []int{3, 1}, Type: f64},
	}, Results: []int{4}}
	b.Measure(b.Name(f64, 10, "x*0.5+y"), Bytes(x)+Bytes(y)+8*b.Rows, func(e *Env) (Result, error) {
		return resultsOf(e.Evaluate(e.Ctx, e.Stream, p, b.Rows, []*memory.Column{e.On(x), e.On(y)}))
	})
}
