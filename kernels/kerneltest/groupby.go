package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// aggregates is aggregates with their columns on the call's device.
func (e *Env) aggregates(aggs []kernels.Aggregate) []kernels.Aggregate {
	there := make([]kernels.Aggregate, len(aggs))
	for i, a := range aggs {
		there[i] = a
		there[i].Values = e.On(a.Values)
	}
	return there
}

func groupBy(s *Suite) {
	n := 0
	types := s.Types(kernels.KeyTypes)
	for call, keys := range s.keySets() {
		o := groupOptions[n%2]
		n++
		aggs := []kernels.Aggregate{{Op: kernels.CountAll}}
		call.Tol = ZeroSigns
		for k := range 1 + n%4 {
			op := groupAggregations()[(n*3+k)%len(groupAggregations())]
			t := types[s.Rand.IntN(len(types))]
			if _, err := kernels.AggregateType(op, t); err != nil || op == kernels.CountAll || op == kernels.Product {
				continue
			}
			if tol := looseness(op); tol.Rel > call.Tol.Rel {
				call.Tol = tol
			}
			values := s.Column(Case{Type: t, Length: call.Case.Length, Offset: s.DrawOffset(), Nulls: s.DrawPattern(), Domain: domainOf(op, t)})
			opts := groupAggregateOptions[s.Rand.IntN(len(groupAggregateOptions))]
			aggs = append(aggs, kernels.Aggregate{Op: op, Values: values, Options: opts})
			call.Note += fmt.Sprintf(" %s(%s %+v)", op, t, opts)
		}
		call.Note += fmt.Sprintf(" %+v", o)
		run := func(e *Env) (Result, error) {
			return grouped(e.GroupBy(e.Ctx, e.Stream, e.onAll(keys), e.aggregates(aggs), o))
		}
		s.Check(call, run)
		if call.Case.Length == 65 && n%3 == 0 || call.Case.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	s.keysRefused(func(e *Env, keys []*memory.Column) (Result, error) {
		return grouped(e.GroupBy(e.Ctx, e.Stream, keys, nil, kernels.GroupOptions{}))
	})
	for _, o := range []kernels.GroupOptions{{}, {Keys: true}, {Keys: true, AnyOrder: true}} {
		groupByEdges(s, o)
	}
	key := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	text := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a"))
	call := Call{Case: Case{Type: key.Type(), Length: 1}, Note: "mean of text", Text: []string{"aggregate 1", "mean of utf8"}}
	s.Check(call, func(e *Env) (Result, error) {
		aggs := []kernels.Aggregate{{Op: kernels.CountAll}, {Op: kernels.Mean, Values: e.On(text)}}
		return grouped(e.GroupBy(e.Ctx, e.Stream, []*memory.Column{e.On(key)}, aggs, kernels.GroupOptions{}))
	})
}

// groupByEdges holds sums of the one group to the edges of their types.
func groupByEdges(s *Suite, o kernels.GroupOptions) {
	for _, key := range []kernels.Scalar{kernels.Int64(7), kernels.String("key")} {
		if !s.entryTypes.Has(key.Type().ID()) {
			continue
		}
		overflows(s, func(op kernels.Aggregation, values *memory.Column) func(*Env) (Result, error) {
			of := make([]kernels.Scalar, values.Len())
			for i := range of {
				of[i] = key
			}
			keys := s.FromScalars(key.Type(), of...)
			return func(e *Env) (Result, error) {
				g, err := e.GroupBy(e.Ctx, e.Stream, []*memory.Column{e.On(keys)}, []kernels.Aggregate{{Op: op, Values: e.On(values)}}, o)
				if err != nil {
					return Result{}, err
				}
				defer g.Release()
				return One(g.Values[0].Retain(), nil)
			}
		})
	}
}

func grouped(g *kernels.Grouped, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return Result{Columns: append([]*memory.Column{g.First}, g.Values...)}, nil
}

func benchGroupBy(b *Bencher) {
	values := b.Column(arrow.PrimitiveTypes.Int64, Small, 0)
	aggs := []kernels.Aggregate{{Op: kernels.Sum, Values: values}, {Op: kernels.CountAll}}
	b.eachKeys(func(name string, keys *memory.Column) {
		b.Measure(name, 16*b.Rows, func(e *Env) (Result, error) {
			return grouped(e.GroupBy(e.Ctx, e.Stream, []*memory.Column{e.On(keys)}, e.aggregates(aggs), kernels.GroupOptions{}))
		})
	})
	text := b.Column(arrow.BinaryTypes.String, Keys, 0)
	b.Measure(b.Name(text.Type(), 0, "groups=8"), Bytes(text)+8*b.Rows, func(e *Env) (Result, error) {
		return grouped(e.GroupBy(e.Ctx, e.Stream, []*memory.Column{e.On(text)}, e.aggregates(aggs), kernels.GroupOptions{}))
	})
}
