package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// aggregations are all of them.
func aggregations() []kernels.Aggregation {
	var all []kernels.Aggregation
	for op := kernels.Sum; op <= kernels.SumWrapping; op++ {
		all = append(all, op)
	}
	return all
}

var aggregateOptions = []kernels.AggregateOptions{
	{}, {KeepNulls: true}, {MinCount: -1}, {MinCount: 5, Ddof: 1}, {Ddof: 2}, {KeepNulls: true, MinCount: -1},
}

// sumTolerance is for backends that keep another shape of float sums than the
// reference; those on the host keep it to the bit.
func (s *Suite) sumTolerance(c Case) Tolerance {
	if s.tested.onHost() {
		return ZeroSigns // of the values that are least, -0 and 0 are equal
	}
	return Tolerance{Abs: 1e-10 * 100 * float64(c.Length+1), Rel: 1e-10}
}

func reduce(s *Suite) {
	n := 0
	for c := range s.Cases(kernels.KeyTypes) {
		n++
		c.Domain = []Domain{Wild, Small, Keys}[n%3]
		if !s.tested.onHost() {
			c.Domain = Small // where the order of a float sum hardly matters
		}
		column := s.Column(c)
		for k, op := range aggregations() {
			o := aggregateOptions[(n+k)%len(aggregateOptions)]
			if c.Length > 1000 && op == kernels.CountDistinct && n%4 != 0 {
				continue
			}
			if _, err := kernels.AggregateType(op, c.Type); err != nil && c.Length != 8 {
				continue // refused, as once will show
			}
			call := Call{Case: c, Note: fmt.Sprintf("%s, %+v", op, o), Tol: s.sumTolerance(c)}
			run := func(e *Env) (Result, error) { return One(e.Reduce(e.Ctx, e.Stream, op, e.On(column), o)) }
			s.Check(call, run)
			if op == kernels.Min && s.has("MinMax") {
				both := call
				both.Note, both.Also = "min and max, "+both.Note, "MinMax"
				s.Check(both, func(e *Env) (Result, error) {
					least, greatest, err := e.MinMax(e.Ctx, e.Stream, e.On(column), o)
					if err != nil {
						return Result{}, err
					}
					return Result{Columns: []*memory.Column{least, greatest}}, nil
				})
			}
			// Small values' products do not fit either, but for floats.
			large := c.Domain != Small && op == kernels.Sum || op == kernels.Product && (c.Domain != Small || !kernels.FloatTypes.Has(c.Type.ID()))
			if !large && (c.Length == 65 || c.Length == s.Long() && op == kernels.Sum) {
				o = kernels.AggregateOptions{}
				s.Faults(call, run)
			}
		}
	}
	overflows(s, func(op kernels.Aggregation, values *memory.Column) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) {
			return One(e.Reduce(e.Ctx, e.Stream, op, e.On(values), kernels.AggregateOptions{}))
		}
	})
	reduceFar(s)
	reduceShape(s)
	reduceRefuses(s)
}

// reduceShape sums floats of many magnitudes over several morsels, where every
// other order of summing gives other bits.
func reduceShape(s *Suite) {
	for _, t := range s.Types(kernels.FloatTypes) {
		for _, nulls := range []Pattern{NoBitmap, Tenth, Runs} {
			c := Case{Type: t, Length: 2*s.Morsel() + 1000 + int64(s.Rand.IntN(600)), Offset: 3, Nulls: nulls, Domain: Small}
			s.scope(func() bool {
				column := s.Column(c)
				values := kernels.Scalars(column)
				for i, v := range values {
					if v.Valid() {
						values[i] = kernels.Float(t, s.Rand.NormFloat64()*float64(int64(1)<<s.Rand.IntN(40)))
					}
				}
				column = s.FromScalars(t, values...)
				for _, op := range []kernels.Aggregation{kernels.Sum, kernels.Product, kernels.Mean, kernels.Var, kernels.Std} {
					call := Call{Case: c, Note: "shape of " + op.String()}
					if !s.tested.onHost() && !s.shape {
						call.Tol = Tolerance{Rel: 1e-6}
					}
					s.Check(call, func(e *Env) (Result, error) {
						return One(e.Reduce(e.Ctx, e.Stream, op, e.On(column), kernels.AggregateOptions{}))
					})
				}
				return true
			})
		}
	}
}

// reduceFar takes the variance of numbers that float64 does not tell apart.
func reduceFar(s *Suite) {
	for _, f := range farNumbers(s) {
		for _, op := range []kernels.Aggregation{kernels.Var, kernels.Std} {
			run := func(e *Env) (Result, error) {
				return One(e.Reduce(e.Ctx, e.Stream, op, e.On(f.values), kernels.AggregateOptions{}))
			}
			s.near("far "+op.String(), run, s.FromScalars(arrow.PrimitiveTypes.Float64, f.want(op)), farWithin)
		}
	}
}

func reduceRefuses(s *Suite) {
	c := Case{Type: arrow.PrimitiveTypes.Int64, Length: 3}
	column := s.Column(c)
	text := s.Column(Case{Type: arrow.BinaryTypes.String, Length: 3})
	list := s.Column(Case{Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Length: 3})
	for _, bad := range []struct {
		note   string
		op     kernels.Aggregation
		column *memory.Column
		o      kernels.AggregateOptions
		text   []string
	}{
		{"sum of text", kernels.Sum, text, kernels.AggregateOptions{}, []string{"sum", "utf8"}},
		{"any of integers", kernels.Any, column, kernels.AggregateOptions{}, []string{"any", "bool"}},
		{"a list", kernels.Count, list, kernels.AggregateOptions{}, []string{"list"}},
		{"no column", kernels.Sum, nil, kernels.AggregateOptions{}, []string{"no column"}},
		{"negative ddof", kernels.Var, column, kernels.AggregateOptions{Ddof: -1}, []string{"ddof -1"}},
		{"no such aggregation", kernels.Aggregation(99), column, kernels.AggregateOptions{}, []string{"99"}},
	} {
		s.Check(Call{Case: c, Note: bad.note, Text: bad.text}, func(e *Env) (Result, error) {
			return One(e.Reduce(e.Ctx, e.Stream, bad.op, e.On(bad.column), bad.o))
		})
	}
}

func benchReduce(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.String} {
		for _, nulls := range []int{0, 10} {
			column := b.Column(t, Small, nulls)
			for _, op := range []kernels.Aggregation{kernels.Sum, kernels.Min, kernels.Mean, kernels.Var} {
				if _, err := kernels.AggregateType(op, t); err != nil {
					continue
				}
				b.Measure(b.Name(t, nulls, "op="+op.String()), Bytes(column), func(e *Env) (Result, error) {
					return One(e.Reduce(e.Ctx, e.Stream, op, e.On(column), kernels.AggregateOptions{}))
				})
			}
		}
	}
}
