package kerneltest

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

func unary(s *Suite) {
	for c := range s.Cases(kernels.NumberTypes | kernels.DecimalTypes | kernels.TypesOf(arrow.DURATION)) {
		op := kernels.UnaryOp(s.Rand.IntN(int(kernels.Round) + 1))
		if _, err := kernels.UnaryType(op, c.Type); err != nil || c.Length == s.Long() {
			op = kernels.Negate
		}
		c.Domain = s.DrawDomain()
		o := kernels.ArithmeticOptions{Checked: s.Rand.IntN(2) == 0 && c.Length < s.Long()}
		column := s.Column(c)
		call := Call{Case: c, Note: fmt.Sprintf("%s %+v", op, o)}
		if op == kernels.Exp || op == kernels.Log {
			call.Tol = Tolerance{Rel: 4.5e-16}
			if c.Type.ID() == arrow.FLOAT32 {
				call.Tol = Tolerance{Rel: 2.4e-7}
			}
		}
		run := func(e *Env) (Result, error) { return One(e.Unary(e.Ctx, e.Stream, op, e.On(column), o)) }
		if works := s.CheckRow(call, run); works && (c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long()) {
			s.Faults(call, run)
		}
	}
	unaryGolden(s)
	text := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a"))
	s.refuses("text", func(e *Env) (Result, error) {
		return One(e.Unary(e.Ctx, e.Stream, kernels.Negate, e.On(text), kernels.ArithmeticOptions{}))
	}, "utf8")
}

func unaryGolden(s *Suite) {
	f64, i64 := arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64
	f := func(v ...float64) (all []kernels.Scalar) {
		for _, x := range v {
			all = append(all, kernels.Float64(x))
		}
		return all
	}
	x := s.FromScalars(f64, f(-2.5, -0.5, 0.5, 1.5, 2.5)...)
	for op, want := range map[kernels.UnaryOp][]kernels.Scalar{
		kernels.Round: f(-3, -1, 1, 2, 3),
		kernels.Floor: f(-3, -1, 0, 1, 2),
		kernels.Ceil:  f(-2, math.Copysign(0, -1), 1, 2, 3),
		kernels.Trunc: f(-2, math.Copysign(0, -1), 0, 1, 2),
		kernels.Sign:  f(-1, -1, 1, 1, 1),
	} {
		s.golden(op.String(), func(e *Env) (Result, error) {
			return One(e.Unary(e.Ctx, e.Stream, op, e.On(x), kernels.ArithmeticOptions{}))
		}, s.FromScalars(f64, want...))
	}
	least := s.FromScalars(i64, kernels.Null(i64), kernels.Int64(3), kernels.Int64(math.MinInt64))
	negate := func(o kernels.ArithmeticOptions) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) { return One(e.Unary(e.Ctx, e.Stream, kernels.Negate, e.On(least), o)) }
	}
	s.golden("negate", negate(kernels.ArithmeticOptions{}), s.FromScalars(i64, kernels.Null(i64), kernels.Int64(-3), kernels.Int64(math.MinInt64)))
	s.Check(Call{Case: Case{Type: i64, Length: 3}, Text: []string{"row 2", "-9223372036854775808"}}, negate(kernels.ArithmeticOptions{Checked: true}))
}

func benchUnary(b *Bencher) {
	t := arrow.PrimitiveTypes.Float64
	c := b.Column(t, Small, 0)
	for _, op := range []kernels.UnaryOp{kernels.Negate, kernels.Sqrt, kernels.Log, kernels.Round} {
		b.Measure(b.Name(t, 0, "op="+op.String()), 2*Bytes(c), func(e *Env) (Result, error) {
			return One(e.Unary(e.Ctx, e.Stream, op, e.On(c), kernels.ArithmeticOptions{}))
		})
	}
}
