package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func logic(s *Suite) {
	for range 3 {
		for c := range s.Cases(kernels.BoolTypes) {
			op := kernels.LogicOp(s.Rand.IntN(int(kernels.AndNot) + 1))
			x, y := s.Pair(c, c.Type, c.Type)
			if _, ok := y.(*memory.Column); ok && s.Rand.IntN(2) == 0 {
				y = s.Column(s.Another(c))
			}
			call := Call{Case: c, Note: fmt.Sprintf("%s %s %s", form(x), op, form(y))}
			run := func(e *Env) (Result, error) {
				return One(e.Logic(e.Ctx, e.Stream, op, e.Datum(x), e.Datum(y)))
			}
			s.Check(call, run)
			if c.Length == 65 || c.Length == s.Long() {
				s.Faults(call, run)
			}
		}
	}
	kleeneTables(s)
	truth := s.FromScalars(arrow.FixedWidthTypes.Boolean, kernels.Bool(true))
	number := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	s.refuses("types", func(e *Env) (Result, error) {
		return One(e.Logic(e.Ctx, e.Stream, kernels.And, e.On(truth), e.On(number)))
	}, "int64")
	s.refuses("scalars", func(e *Env) (Result, error) {
		return One(e.Logic(e.Ctx, e.Stream, kernels.And, kernels.Bool(true), kernels.Bool(true)))
	}, "scalar")
}

// kleeneTables holds every operation to its truth table: T, F and null (N) on
// the left by T, F, N on the right.
func kleeneTables(s *Suite) {
	t := arrow.FixedWidthTypes.Boolean
	values := map[rune]kernels.Scalar{'T': kernels.Bool(true), 'F': kernels.Bool(false), 'N': kernels.Null(t)}
	column := func(text string) *memory.Column {
		var all []kernels.Scalar
		for _, r := range text {
			all = append(all, values[r])
		}
		return s.FromScalars(t, all...)
	}
	left, right := column("TTTFFFNNN"), column("TFNTFNTFN")
	for op, want := range map[kernels.LogicOp]string{
		kernels.And:    "TFNFFFNFN",
		kernels.Or:     "TTTTFNTNN",
		kernels.Xor:    "FTNTFNNNN",
		kernels.AndNot: "FTNFFFFNN",
	} {
		s.golden(op.String(), func(e *Env) (Result, error) {
			return One(e.Logic(e.Ctx, e.Stream, op, e.On(left), e.On(right)))
		}, column(want))
		for i, r := range "TFN" { // by a scalar, on either side
			some := column("TFN")
			table := want[i : i+1]
			for k := 1; k < 3; k++ {
				table += want[3*k+i : 3*k+i+1]
			}
			s.golden(op.String()+" scalar", func(e *Env) (Result, error) {
				return One(e.Logic(e.Ctx, e.Stream, op, e.On(some), values[r]))
			}, column(table))
			s.golden("scalar "+op.String(), func(e *Env) (Result, error) {
				return One(e.Logic(e.Ctx, e.Stream, op, values[r], e.On(some)))
			}, column(want[3*i:3*i+3]))
		}
	}
}

func not(s *Suite) {
	for c := range s.Cases(kernels.BoolTypes) {
		column := s.Column(c)
		run := func(e *Env) (Result, error) { return One(e.Not(e.Ctx, e.Stream, e.On(column))) }
		s.Check(Call{Case: c}, run)
		if c.Length == 65 || c.Length == s.Long() {
			s.Faults(Call{Case: c}, run)
		}
	}
	number := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	s.refuses("types", func(e *Env) (Result, error) { return One(e.Not(e.Ctx, e.Stream, e.On(number))) }, "int64")
}

func benchLogic(b *Bencher) {
	t := arrow.FixedWidthTypes.Boolean
	for _, nulls := range []int{0, 10} {
		x, y := b.Column(t, Wild, nulls), b.Column(t, Wild, nulls)
		b.Measure(b.Name(t, nulls, "op=and"), 2*Bytes(x)+Bytes(y), func(e *Env) (Result, error) {
			return One(e.Logic(e.Ctx, e.Stream, kernels.And, e.On(x), e.On(y)))
		})
	}
}
