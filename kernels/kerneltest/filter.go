package kerneltest

import (
	"context"
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
		if c.Length == 65 || c.Length == s.Long() {
			s.Faults(call, run)
		}
		if !o.EmitNull && s.has("FilterWhere") {
			call.Note, call.Also = call.Note+", where", "FilterWhere"
			s.Check(call, func(e *Env) (Result, error) { return filteredWhere(e, e.On(values), e.On(mask)) })
		}
	}
	filterRefuses(s)
	if s.extent > Least {
		filterMemory(s)
	}
}

// filteredWhere filters by a mask that is cut out of one, or at once where the backend declines.
func filteredWhere(e *Env, values, mask *memory.Column) (Result, error) {
	kept, done, err := e.FilterWhere(e.Ctx, e.Stream, []*memory.Column{values}, func(_ context.Context, from, n int64) (*memory.Column, error) {
		return mask.Slice(from, n)
	})
	if err != nil || done {
		return Result{Columns: kept}, err
	}
	return One(e.Filter(e.Ctx, e.Stream, values, mask, kernels.FilterOptions{}))
}

// filterMemory holds what a filter takes beside its result to a quarter of
// argument and result.
func filterMemory(s *Suite) {
	for _, t := range s.Types(kernels.FixedTypes | kernels.BoolTypes | kernels.BinaryTypes | kernels.DictTypes | kernels.NestedTypes) {
		s.scope(func() bool {
			values := s.Column(Case{Type: t, Length: 20_000, Nulls: Tenth})
			mask := s.Mask(values.Len(), 0.5, Tenth, 0)
			run := func(e *Env) (Result, error) {
				return One(e.Filter(e.Ctx, e.Stream, e.On(values), e.On(mask), kernels.FilterOptions{}))
			}
			r, err := s.tested.call(context.Background(), run)
			s.must(err)
			out := Bytes(r.Columns[0])
			r.Release()
			if peak, limit := s.Peak(run), out+(Bytes(values)+out)/4; peak > limit {
				s.Errorf("Filter of %s: %d bytes at the peak for a result of %d, more than %d", t, peak, out, limit)
			}
			return true
		})
	}
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
					return One(e.Filter(e.Ctx, e.Stream, e.On(values), e.On(mask), kernels.FilterOptions{}))
				})
			}
		}
	}
}
