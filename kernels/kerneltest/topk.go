package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

func topK(s *Suite) {
	n := 0
	order(s, func(c Call, keys []kernels.SortKey) {
		n++
		k := []int64{1, 0, 3, c.Case.Length / 20, 1000, c.Case.Length - 1, c.Case.Length + 1}[n%7]
		if k < 0 {
			k = 0
		}
		c.Note = fmt.Sprintf("k=%d %s", k, c.Note)
		run := func(e *Env) (Result, error) { return One(e.TopK(e.Ctx, e.Stream, e.keys(keys), k)) }
		s.Check(c, run)
		if c.Case.Length == 65 {
			keys = s.faultKeys(keys)
			c.Note = fmt.Sprintf("k=%d %s", k, fmt.Sprint(keys))
			s.Faults(c, run)
		}
		if c.Case.Length == s.Long() {
			c.Note = "k=100 " + c.Note
			s.Faults(c, func(e *Env) (Result, error) { return One(e.TopK(e.Ctx, e.Stream, e.keys(keys), 100)) })
		}
	})
	for _, keys := range hardOrders(s, Morsel/4) {
		for _, k := range []int64{1, 100} {
			c := Call{Case: Case{Type: keys[0].Values.Type(), Length: keys[0].Values.Len()}, Note: fmt.Sprint("hard k=", k, " ", keys)}
			s.Check(c, func(e *Env) (Result, error) { return One(e.TopK(e.Ctx, e.Stream, e.keys(keys), k)) })
		}
	}
	orderRefuses(s, func(e *Env, keys []kernels.SortKey) (Result, error) {
		return One(e.TopK(e.Ctx, e.Stream, e.keys(keys), 1))
	})
	one := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	c := Call{Case: Case{Type: one.Type(), Length: 1}, Note: "negative k", Text: []string{"-1"}}
	s.Check(c, func(e *Env) (Result, error) {
		return One(e.TopK(e.Ctx, e.Stream, []kernels.SortKey{{Values: e.On(one)}}, -1))
	})
}

func benchTopK(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
		for _, k := range []int64{10, 1000} {
			keys := []kernels.SortKey{{Values: b.Column(t, Wild, 10)}}
			b.Measure(b.Name(t, 10, fmt.Sprintf("k=%d", k)), Bytes(keys[0].Values)+4*k, func(e *Env) (Result, error) {
				return One(e.TopK(e.Ctx, e.Stream, e.keys(keys), k))
			})
		}
	}
}
