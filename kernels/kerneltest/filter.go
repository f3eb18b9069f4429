package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func filter(s *Suite) {
	shares := []float64{0.5, 0, 1, 0.1, 0.9}
	n := 0
	for c := range s.Cases(kernels.AllTypes) {
		share, o := shares[n%len(shares)], kernels.FilterOptions{EmitNull: n%3 == 0}
		n++
		values, mask := s.Column(c), s.Mask(c.Length, share, s.DrawPattern(), s.DrawOffset())
		call := Call{Case: c, Note: fmt.Sprintf("mask %.0f%% of offset %d, %d nulls, %+v", 100*share, mask.Offset(), mask.NullCount(), o)}
		run := func(e *Env) (Result, error) {
			return One(e.Filter(e.Ctx, e.Stream, e.On(values), e.On(mask), o))
		}
		s.Check(call, run)
		if c.Length == 65 || c.Length == LongLength {
			s.Faults(call, run)
		}
	}
	filterRefuses(s)
}

func filterRefuses(s *Suite) {
	values := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1), kernels.Int64(2))
	short := s.FromScalars(arrow.FixedWidthTypes.Boolean, kernels.Bool(true))
	run := func(mask *memory.Column) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) {
			return One(e.Filter(e.Ctx, e.Stream, e.On(values), e.On(mask), kernels.FilterOptions{}))
		}
	}
	c := Case{Type: values.Type(), Length: 2}
	s.Check(Call{Case: c, Note: "short mask", Text: []string{"2", "1"}}, run(short))
	s.Check(Call{Case: c, Note: "mask of int64", Text: []string{"int64"}}, run(values))
}

func benchFilter(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String} {
		for _, nulls := range []int{0, 10} {
			for _, percent := range []int{1, 10, 50, 99} {
				values, mask := b.Column(t, Small, nulls), b.Mask(percent)
				bytes := memory.BitmapBytes(b.Rows) + Bytes(values)*int64(percent)/50
				b.Measure(b.Name(t, nulls, fmt.Sprintf("kept=%d%%", percent)), bytes, func(e *Env) (Result, error) {
					return One(e.Filter(e.Ctx, e.Stream, values, mask, kernels.FilterOptions{}))
				})
			}
		}
	}
}
