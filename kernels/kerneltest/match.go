package kerneltest

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// match looks for pieces of texts in texts.
func match(s *Suite) {
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
	like(s)
}

// like holds texts against patterns of LIKE, made of pieces of the texts and of
// wildcards.
func like(s *Suite) {
	for c := range s.Cases(kernels.BinaryTypes) {
		c.Domain = s.DrawDomain()
		column := s.Column(c)
		text := ""
		if c.Length > 0 {
			if v := kernels.ScalarAt(column, s.Rand.Int64N(c.Length)); v.Valid() {
				text = v.Text()
			}
		}
		pattern := s.likePattern(text, c.Type.ID() == arrow.BINARY || c.Type.ID() == arrow.LARGE_BINARY)
		run := func(e *Env) (Result, error) {
			return One(e.Match(e.Ctx, e.Stream, kernels.Like, e.On(column), pattern))
		}
		call := Call{Case: c, Note: fmt.Sprintf("like %q", pattern)}
		s.Check(call, run)
		if c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	likeGolden(s)
	texts := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a text"))
	for _, pattern := range []string{`a\`, "\xff%"} {
		s.Refuses(Call{Case: Case{Type: arrow.BinaryTypes.String, Length: 1}, Note: "like"}, device.ErrMismatch, func(e *Env) (Result, error) {
			return One(e.Match(e.Ctx, e.Stream, kernels.Like, e.On(texts), pattern))
		})
	}
}

// likePattern puts wildcards into a text: for letters, between them, in place of the end.
func (s *Suite) likePattern(text string, asBytes bool) string {
	letters := strings.Split(strings.ToValidUTF8(text, ""), "")
	if asBytes {
		letters = nil
		for i := range len(text) {
			letters = append(letters, text[i:i+1])
		}
	}
	if len(letters) > 40 {
		letters = letters[:40]
	}
	var b strings.Builder
	for _, l := range letters {
		switch s.Rand.IntN(8) {
		case 0:
			b.WriteByte('_')
			continue
		case 1:
			b.WriteByte('%')
			continue
		case 2:
			b.WriteByte('%')
		}
		b.WriteString(kernels.LikeText([]kernels.LikePart{{Text: l}}))
	}
	return b.String() + []string{"", "%", "_%", "%_"}[s.Rand.IntN(4)]
}

// likeGolden holds answers to those of SQL written down here.
func likeGolden(s *Suite) {
	truth := arrow.FixedWidthTypes.Boolean
	for _, g := range []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{""}, []string{"a"}},
		{"%", []string{"", "a", "é€"}, nil},
		{"a%", []string{"a", "ab"}, []string{"", "ba"}},
		{"%a", []string{"a", "ba"}, []string{"ab"}},
		{"%a%", []string{"xay"}, []string{"", "b"}},
		{"_", []string{"a", "é", "€", "𝄞"}, []string{"", "ab", "éé"}},
		{"a_c", []string{"abc", "a€c"}, []string{"ac", "abbc"}},
		{"%a%b%", []string{"ab", "xaxbx"}, []string{"ba", "a"}},
		{"a%a", []string{"aa", "aba"}, []string{"a"}},
		{"%ab_c%d", []string{"ababxcd", "abxc_d"}, []string{"abcd", "ababxc"}},
		{"%special%requests%", []string{"the special requests", "specialrequests"}, []string{"requests special", "special request"}},
		{"%_%", []string{"a", "é"}, []string{""}},
		{"_%_", []string{"ab", "é€"}, []string{"é", ""}},
		{"%é_", []string{"aéb", "éé"}, []string{"é", "ée\u0301x"}},
		{`100\%`, []string{"100%"}, []string{"100x", `100\%`}},
		{`%\_%`, []string{"a_b"}, []string{"ab"}},
		{`a\\b`, []string{`a\b`}, []string{`a\\b`}},
		{"%aab", []string{"aaab", "aab"}, []string{"aaba"}},
		{"%a_a_a%", []string{"aaaaaa", "babaca"}, []string{"abacb"}},
		{"\n%", []string{"\n", "\n\x00"}, []string{"n"}},
	} {
		for _, t := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString} {
			texts, answers := []kernels.Scalar{kernels.Null(t)}, []kernels.Scalar{kernels.Null(truth)}
			for _, v := range g.yes {
				texts, answers = append(texts, kernels.Text(t, v)), append(answers, kernels.Bool(true))
			}
			for _, v := range g.no {
				texts, answers = append(texts, kernels.Text(t, v)), append(answers, kernels.Bool(false))
			}
			x := s.FromScalars(t, texts...)
			s.golden(fmt.Sprintf("like %q", g.pattern), func(e *Env) (Result, error) {
				return One(e.Match(e.Ctx, e.Stream, kernels.Like, e.On(x), g.pattern))
			}, s.FromScalars(truth, answers...))
		}
	}
}
