package kerneltest

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func compareKernel(s *Suite) {
	for c := range s.Cases(kernels.KeyTypes) {
		op := kernels.CompareOp(s.Rand.IntN(int(kernels.GreaterEqual) + 1))
		c.Domain = s.DrawDomain()
		other := c.Type
		if d, ok := other.(*arrow.DictionaryType); ok && s.Rand.IntN(3) == 0 {
			other = d.ValueType
		}
		x := s.Side(c, c.Type, false)
		y := s.Side(s.Another(c), other, s.Rand.IntN(2) == 0)
		if s.Rand.IntN(3) == 0 {
			x, y = y, x
		}
		call := Call{Case: c, Note: fmt.Sprintf("%s %s %s", form(x), op, form(y))}
		run := func(e *Env) (Result, error) {
			return One(e.Compare(e.Ctx, e.Stream, op, e.Datum(x), e.Datum(y)))
		}
		if c.Length == s.Long() {
			y = s.Column(s.Another(c))
			if _, scalar := x.(kernels.Scalar); scalar {
				x = s.Column(c)
			}
		}
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	compareGolden(s)
	compareRefuses(s)
}

func compareGolden(s *Suite) {
	f64, truth := arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean
	nan := kernels.Float64(math.NaN())
	x := s.FromScalars(f64, nan, nan, kernels.Float64(math.Copysign(0, -1)), kernels.Null(f64))
	y := s.FromScalars(f64, nan, kernels.Float64(1), kernels.Float64(0), nan)
	for op, want := range map[kernels.CompareOp][3]bool{
		kernels.Equal:        {false, false, true},
		kernels.NotEqual:     {true, true, false},
		kernels.Less:         {false, false, false},
		kernels.LessEqual:    {false, false, true},
		kernels.Greater:      {false, false, false},
		kernels.GreaterEqual: {false, false, true},
	} {
		s.golden(op.String(), func(e *Env) (Result, error) {
			return One(e.Compare(e.Ctx, e.Stream, op, e.On(x), e.On(y)))
		}, s.FromScalars(truth, kernels.Bool(want[0]), kernels.Bool(want[1]), kernels.Bool(want[2]), kernels.Null(truth)))
	}
}

func compareRefuses(s *Suite) {
	i64 := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1), kernels.Int64(2))
	short := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	text := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a"), kernels.String("b"))
	run := func(x, y kernels.Datum) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) {
			return One(e.Compare(e.Ctx, e.Stream, kernels.Less, e.Datum(x), e.Datum(y)))
		}
	}
	s.refuses("lengths", run(i64, short), "2", "1")
	s.refuses("types", run(i64, text), "int64", "utf8")
	s.refuses("scalars", run(kernels.Int64(1), kernels.Int64(1)), "scalar")
	d2, d3 := kernels.Null(&arrow.Decimal128Type{Precision: 9, Scale: 2}), kernels.Null(&arrow.Decimal128Type{Precision: 9, Scale: 3})
	s.refuses("scales", run(s.FromScalars(d2.Type(), d2), d3), "decimal")
}

func benchCompare(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
		for _, nulls := range []int{0, 10} {
			x, y := b.Column(t, Keys, nulls), b.Column(t, Keys, nulls)
			b.Measure(b.Name(t, nulls, "right=column"), Bytes(x)+Bytes(y)+memory.BitmapBytes(b.Rows), func(e *Env) (Result, error) {
				return One(e.Compare(e.Ctx, e.Stream, kernels.Less, e.On(x), e.On(y)))
			})
			v := kernels.ScalarAt(y, 1)
			b.Measure(b.Name(t, nulls, "right=scalar"), Bytes(x)+memory.BitmapBytes(b.Rows), func(e *Env) (Result, error) {
				return One(e.Compare(e.Ctx, e.Stream, kernels.Less, e.On(x), v))
			})
		}
	}
}
