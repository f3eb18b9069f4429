package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

var groupAggregateOptions = []kernels.AggregateOptions{
	{}, {KeepNulls: true}, {MinCount: -1}, {MinCount: 3, Ddof: 1}, {KeepNulls: true, MinCount: -1, Ddof: 2},
}

// groupAggregations are those by group.
func groupAggregations() []kernels.Aggregation {
	var all []kernels.Aggregation
	for op := kernels.Sum; op <= kernels.Last; op++ {
		all = append(all, op)
	}
	return append(all, kernels.SumWrapping)
}

// domainOf is the values that an aggregation is tried on: those of which the
// sums and products of floats are exact in any order.
func domainOf(op kernels.Aggregation, t arrow.DataType) Domain {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch op {
	case kernels.Sum:
		if t.ID() != arrow.BOOL && t.ID() != arrow.NULL {
			return Small // of wild ones hardly a sum fits: those are in overflows
		}
	case kernels.Mean, kernels.Var, kernels.Std:
		if id := t.ID(); id == arrow.FLOAT32 || id == arrow.FLOAT64 || op == kernels.Var || op == kernels.Std {
			return Small
		}
		if op == kernels.Mean && t.ID() == arrow.DECIMAL128 {
			return Small
		}
	case kernels.CountDistinct:
		return Keys
	}
	return Wild
}

// looseness is how far an aggregate may be from the reference.
func looseness(op kernels.Aggregation) Tolerance {
	switch op {
	case kernels.Var, kernels.Std, kernels.Mean:
		return Tolerance{Abs: 1e-9, Rel: 1e-11}
	case kernels.Product:
		return Tolerance{Rel: 1e-12}
	}
	return ZeroSigns
}

// ids makes group numbers below n.
func (s *Suite) ids(c Case, n int) *memory.Column {
	t := arrow.DataType(arrow.PrimitiveTypes.Uint32)
	if s.Rand.IntN(4) == 0 {
		t = arrow.PrimitiveTypes.Uint64
	}
	ids := s.Column(Case{Type: t, Length: c.Length, Offset: s.DrawOffset(), Nulls: s.DrawPattern(), Domain: Keys})
	for i := range c.Length {
		if ids.IsNull(i) {
			continue
		}
		if g := s.Rand.IntN(max(n, 1)); t.ID() == arrow.UINT32 {
			memory.Values[uint32](ids)[i] = uint32(g)
		} else {
			memory.Values[uint64](ids)[i] = uint64(g)
		}
	}
	return s.Own(ids.Retain())
}

func aggregate(s *Suite) {
	n := 0
	for c := range s.Cases(kernels.KeyTypes) {
		for _, op := range groupAggregations() {
			if _, err := kernels.AggregateType(op, c.Type); err != nil {
				continue
			}
			if n++; s.extent <= Brief && n%3 != 0 || c.Length < 100 && c.Length > 9 && n%2 == 0 {
				continue
			}
			o := groupAggregateOptions[n%len(groupAggregateOptions)]
			groups := []int{3, 1, 40, 1000}[n%4]
			if c.Length == 0 {
				groups = n % 3
			}
			if c.Domain = domainOf(op, c.Type); op == kernels.Product && n%2 == 0 && c.Length < 100 {
				c.Domain = Small
			}
			if op == kernels.Product && c.Domain == Wild && !kernels.IntegerTypes.Has(c.Type.ID()) {
				c.Domain = Keys // no order of multiplication overflows
			}
			values, ids := s.Column(c), s.ids(c, groups)
			given := values
			if op == kernels.CountAll {
				given = nil
			}
			call := Call{Case: c, Note: fmt.Sprintf("%s of %d groups, ids of %s, %+v", op, groups, ids.Type(), o), Tol: looseness(op)}
			run := func(e *Env) (Result, error) {
				return One(e.Aggregate(e.Ctx, e.Stream, op, e.On(given), e.On(ids), int64(groups), o))
			}
			s.Check(call, run)
			if op != kernels.Product && (c.Length == 65 && n%7 == 0 || c.Length == s.Long() && op != kernels.CountAll) { // long products do not fit
				s.Faults(call, run)
			}
		}
	}
	aggregateEdges(s)
	aggregateRefuses(s)
}

// aggregateEdges holds sums of a group to the edges of their types, beside a group
// without rows, and variances to what float64 would lose.
func aggregateEdges(s *Suite) {
	u32 := arrow.PrimitiveTypes.Uint32
	of := func(op kernels.Aggregation, values *memory.Column) func(*Env) (Result, error) {
		zeros := make([]kernels.Scalar, values.Len())
		for i := range zeros {
			zeros[i] = kernels.Int(u32, 0)
		}
		ids := s.FromScalars(u32, zeros...)
		return func(e *Env) (Result, error) {
			c, err := e.Aggregate(e.Ctx, e.Stream, op, e.On(values), e.On(ids), 2, kernels.AggregateOptions{})
			if err != nil {
				return Result{}, err
			}
			defer c.Release()
			return One(c.Slice(0, 1))
		}
	}
	overflows(s, of)
	for _, f := range farNumbers(s) {
		for _, op := range []kernels.Aggregation{kernels.Var, kernels.Std} {
			s.near("far "+op.String(), of(op, f.values), s.FromScalars(arrow.PrimitiveTypes.Float64, f.want(op)), farWithin)
		}
	}
}

func aggregateRefuses(s *Suite) {
	i64, u32 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32
	values := s.FromScalars(i64, kernels.Int64(1), kernels.Int64(2))
	texts := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a"), kernels.String("b"))
	ids := s.FromScalars(u32, kernels.Int(u32, 0), kernels.Int(u32, 7))
	short := s.FromScalars(u32, kernels.Int(u32, 0))
	for _, c := range []struct {
		op          kernels.Aggregation
		values, ids *memory.Column
		n           int64
		text        string
	}{
		{kernels.Sum, values, ids, 7, "row 1"},
		{kernels.Sum, values, short, 1, "2 values"},
		{kernels.Sum, values, values, 3, "int64"},
		{kernels.Sum, nil, ids, 8, "without values"},
		{kernels.Sum, values, nil, 8, "no group numbers"},
		{kernels.Sum, values, ids, -1, "-1 groups"},
		{kernels.CountAll, values, ids, 8, "no values"},
		{kernels.Mean, texts, ids, 8, "mean of utf8"},
		{kernels.ArgMin, values, ids, 8, "arg_min"},
		{kernels.Aggregation(99), values, ids, 8, "99"},
	} {
		call := Call{Case: Case{Type: i64, Length: 2}, Note: fmt.Sprint("refuse ", c.op, " ", c.n), Text: []string{c.text}}
		s.Check(call, func(e *Env) (Result, error) {
			return One(e.Aggregate(e.Ctx, e.Stream, c.op, e.On(c.values), e.On(c.ids), c.n, kernels.AggregateOptions{}))
		})
	}
	call := Call{Case: Case{Type: i64, Length: 2}, Note: "refuse ddof", Text: []string{"ddof -1"}}
	s.Check(call, func(e *Env) (Result, error) {
		return One(e.Aggregate(e.Ctx, e.Stream, kernels.Var, e.On(values), e.On(ids), 8, kernels.AggregateOptions{Ddof: -1}))
	})
}

func benchAggregate(b *Bencher) {
	for _, op := range []kernels.Aggregation{kernels.Sum, kernels.Max, kernels.Var, kernels.CountDistinct} {
		for _, groups := range []int64{100, 100_000} {
			values := b.Column(arrow.PrimitiveTypes.Float64, Small, 0)
			ids := b.Column(arrow.PrimitiveTypes.Uint32, Small, 0)
			for i := range b.Rows {
				memory.Values[uint32](ids)[i] = uint32(b.Rand().Int64N(groups))
			}
			b.Measure(b.Name(values.Type(), 0, "op="+op.String(), "groups="+count(groups)), 12*b.Rows+8*groups, func(e *Env) (Result, error) {
				return One(e.Aggregate(e.Ctx, e.Stream, op, e.On(values), e.On(ids), groups, kernels.AggregateOptions{}))
			})
		}
	}
}
