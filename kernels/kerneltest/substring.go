package kerneltest

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// substring takes parts of texts.
func substring(s *Suite) {
	text := arrow.BinaryTypes.String
	texts := s.FromScalars(text, kernels.String("a text"))
	for c := range s.Cases(kernels.BinaryTypes) {
		c.Domain = s.DrawDomain()
		column := s.Column(c)
		from := []int64{1, 2, 3, 7, math.MaxInt64}[s.Rand.IntN(5)]
		length := []int64{0, 1, 2, 9, math.MaxInt64}[s.Rand.IntN(5)]
		run := func(e *Env) (Result, error) {
			return One(e.Substring(e.Ctx, e.Stream, e.On(column), from, length))
		}
		call := Call{Case: c, Note: fmt.Sprintf("substring %d %d", from, length)}
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	for _, g := range []struct {
		from, length int64
		in, want     string
	}{
		{1, 2, "13-715", "13"}, {1, 2, "é€x", "é€"}, {2, 1, "é𝄞x", "𝄞"}, {3, 5, "ab", ""}, {2, math.MaxInt64, "abc", "bc"},
		{1, 0, "abc", ""}, {2, 1, "a\xff\xffb", "\xff"}, {1, 3, "", ""},
	} {
		x := s.FromScalars(text, kernels.Null(text), kernels.String(g.in))
		s.golden(fmt.Sprintf("substring %q %d %d", g.in, g.from, g.length), func(e *Env) (Result, error) {
			return One(e.Substring(e.Ctx, e.Stream, e.On(x), g.from, g.length))
		}, s.FromScalars(text, kernels.Null(text), kernels.String(g.want)))
	}
	for _, g := range [][2]int64{{0, 1}, {-1, 1}, {1, -1}} {
		s.Refuses(Call{Case: Case{Type: text, Length: 1}, Note: "substring"}, device.ErrMismatch, func(e *Env) (Result, error) {
			return One(e.Substring(e.Ctx, e.Stream, e.On(texts), g[0], g[1]))
		})
	}
	numbers := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	s.refuses("substring of numbers", func(e *Env) (Result, error) {
		return One(e.Substring(e.Ctx, e.Stream, e.On(numbers), 1, 1))
	}, "int64")
}
