package kerneltest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func ifElse(s *Suite) {
	for c := range s.Cases(kernels.KeyTypes) {
		c.Domain = s.DrawDomain()
		cond := s.Mask(c.Length, []float64{0.5, 0, 1, 0.05}[s.Rand.IntN(4)], s.DrawPattern(), s.DrawOffset())
		x := s.Side(c, c.Type, s.Rand.IntN(3) == 0)
		y := s.Side(s.Another(c), c.Type, s.Rand.IntN(3) == 0)
		call := Call{Case: c, Note: "if bool then " + form(x) + " else " + form(y)}
		if _, one := x.(kernels.Scalar); one && c.Type.ID() == arrow.DICTIONARY {
			if _, both := y.(kernels.Scalar); both {
				x = s.Column(c)
			}
		}
		run := func(e *Env) (Result, error) {
			return One(e.IfElse(e.Ctx, e.Stream, e.On(cond), e.Datum(x), e.Datum(y)))
		}
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(3) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	ifElseRefuses(s)
}

func ifElseRefuses(s *Suite) {
	i64, truth := arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Boolean
	cond := s.FromScalars(truth, kernels.Bool(true), kernels.Bool(false), kernels.Null(truth))
	short := s.FromScalars(i64, kernels.Int64(1))
	run := func(cond *memory.Column, x, y kernels.Datum) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) {
			return One(e.IfElse(e.Ctx, e.Stream, e.On(cond), e.Datum(x), e.Datum(y)))
		}
	}
	s.golden("two scalars", run(cond, kernels.Int64(1), kernels.Int64(2)),
		s.FromScalars(i64, kernels.Int64(1), kernels.Int64(2), kernels.Null(i64)))
	s.refuses("lengths", run(cond, short, kernels.Int64(1)), "3", "1")
	s.refuses("types", run(cond, kernels.Int64(1), kernels.Float64(1)), "int64", "float64")
	s.refuses("condition", run(short, kernels.Int64(1), kernels.Int64(1)), "bool")
}

func benchIfElse(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String} {
		x, y, cond := b.Column(t, Keys, 0), b.Column(t, Keys, 0), b.Mask(50)
		b.Measure(b.Name(t, 0, "true=50%"), 2*Bytes(x)+Bytes(cond), func(e *Env) (Result, error) {
			return One(e.IfElse(e.Ctx, e.Stream, e.On(cond), e.On(x), e.On(y)))
		})
	}
}
