package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// match looks for pieces of texts in texts, on backends that search; others say
// that they do not.
func match(s *Suite) {
	if s.tested.backend.Set.Match == nil {
		texts := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a text"))
		s.Refuses(Call{Case: Case{Type: arrow.BinaryTypes.String, Length: 1}, Note: "contains"}, device.ErrUnsupported, func(e *Env) (Result, error) {
			return One(e.Match(e.Ctx, e.Stream, kernels.Contains, e.On(texts), "t"))
		})
		return
	}
	for c := range s.Cases(kernels.BinaryTypes) {
		op := kernels.MatchOp(s.Rand.IntN(int(kernels.EndsWith) + 1))
		c.Domain = s.DrawDomain()
		column := s.Column(c)
		pattern := ""
		if c.Length > 0 {
			if v := kernels.ScalarAt(column, s.Rand.Int64N(c.Length)); v.Valid() && len(v.Text()) > 0 {
				from := s.Rand.IntN(len(v.Text()))
				pattern = v.Text()[from : from+s.Rand.IntN(len(v.Text())-from+1)]
			}
		}
		run := func(e *Env) (Result, error) { return One(e.Match(e.Ctx, e.Stream, op, e.On(column), pattern)) }
		s.Check(Call{Case: c, Note: fmt.Sprintf("%s %q", op, pattern)}, run)
	}
	numbers := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	s.refuses("numbers", func(e *Env) (Result, error) {
		return One(e.Match(e.Ctx, e.Stream, kernels.Contains, e.On(numbers), "1"))
	}, "int64")
}
