package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func isIn(s *Suite) {
	n := 0
	sizes := []int64{5, 0, 1, 40, 300}
	for c := range s.Cases(kernels.KeyTypes) {
		c.Domain = Keys
		set := Case{Type: c.Type, Length: sizes[n%len(sizes)], Offset: s.DrawOffset(), Nulls: s.DrawPattern(), Domain: Keys}
		if n++; n%3 == 0 {
			c.Domain, set.Domain = Wild, Wild
		}
		values, members := s.Column(c), s.Column(set)
		call := Call{Case: c, Note: fmt.Sprintf("set of %d, offset %d, nulls %q", set.Length, set.Offset, set.Nulls)}
		run := func(e *Env) (Result, error) {
			return One(e.IsIn(e.Ctx, e.Stream, e.On(values), e.On(members)))
		}
		s.Check(call, run)
		call.Note, call.Also = call.Note+", the set built once", "Members"
		s.Check(call, func(e *Env) (Result, error) { return askedTwice(e, e.On(values), e.On(members)) })
		if c.Length == 65 && n%5 == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	i := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	f := s.FromScalars(arrow.PrimitiveTypes.Float64, kernels.Float64(1))
	call := Call{Case: Case{Type: i.Type(), Length: 1}, Note: "another type", Text: []string{"int64", "float64"}}
	s.Check(call, func(e *Env) (Result, error) { return One(e.IsIn(e.Ctx, e.Stream, e.On(i), e.On(f))) })
	call = Call{Case: Case{Type: i.Type(), Length: 1}, Note: "no set", Text: []string{"missing"}}
	s.Check(call, func(e *Env) (Result, error) { return One(e.IsIn(e.Ctx, e.Stream, e.On(i), nil)) })
}

// askedTwice asks a set for all values, and for all but the first.
func askedTwice(e *Env, values, members *memory.Column) (Result, error) {
	m, err := e.Members(e.Ctx, e.Stream, members)
	if err != nil {
		return Result{}, err
	}
	defer m.Release()
	from := min(1, values.Len())
	rest, err := values.Slice(from, values.Len()-from)
	if err != nil {
		return Result{}, err
	}
	defer rest.Release()
	all, err := m.IsIn(e.Ctx, e.Stream, values)
	if err != nil {
		return Result{}, err
	}
	part, err := m.IsIn(e.Ctx, e.Stream, rest)
	if err != nil {
		all.Release()
		return Result{}, err
	}
	return Result{Columns: []*memory.Column{all, part}}, nil
}

func benchIsIn(b *Bencher) {
	for _, size := range []int64{10, 10_000} {
		values := b.keys(10*size, true)
		set, err := values.Slice(0, min(size, b.Rows))
		if err != nil {
			b.Fatal(err)
		}
		b.Own(set)
		b.Measure(b.Name(values.Type(), 0, "set="+count(size)), 8*b.Rows+memory.BitmapBytes(b.Rows), func(e *Env) (Result, error) {
			return One(e.IsIn(e.Ctx, e.Stream, e.On(values), e.On(set)))
		})
	}
}
