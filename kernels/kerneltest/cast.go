package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func cast(s *Suite) {
	all := s.Types(kernels.KeyTypes)
	for c := range s.Cases(kernels.KeyTypes) {
		c.Domain = s.DrawDomain()
		column := s.Column(c)
		targets := castable(c.Type, all)
		for range 2 {
			to := targets[s.Rand.IntN(len(targets))]
			o := kernels.CastOptions{Wrap: s.Rand.IntN(2) == 0}
			if c.Length == s.Long() {
				to, o.Wrap = arrow.PrimitiveTypes.Float64, true
			}
			call := Call{Case: c, Note: fmt.Sprintf("to %s %+v", to, o)}
			run := castTo(column, to, o)
			if works := s.CheckRow(call, run); works && (c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long()) {
				s.Faults(call, run)
			}
			if c.Length > 1000 {
				break
			}
		}
	}
	castText(s, all)
	castGolden(s)
	castRefuses(s)
}

func castTo(c *memory.Column, to arrow.DataType, o kernels.CastOptions) func(*Env) (Result, error) {
	return func(e *Env) (Result, error) {
		e.given = append(e.given, to)
		return One(e.Cast(e.Ctx, e.Stream, e.On(c), to, o))
	}
}

func castable(from arrow.DataType, all []arrow.DataType) (to []arrow.DataType) {
	for _, t := range all {
		if kernels.CanCast(from, t) == nil {
			to = append(to, t)
		}
	}
	return to
}

// castText reads texts that other types gave: what was written reads back the
// same.
func castText(s *Suite, all []arrow.DataType) {
	for _, text := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString} {
		if !s.entryTypes.Has(text.ID()) {
			continue
		}
		for _, t := range all {
			if kernels.CanCast(t, text) != nil || kernels.CanCast(text, t) != nil || kernels.BinaryTypes.Has(t.ID()) {
				continue
			}
			for _, d := range []Domain{Wild, Keys} {
				if d == Keys && kernels.TemporalTypes.Has(t.ID()) {
					continue // those draw times below 0 and pieces of days, which no text says
				}
				c := s.Column(Case{Type: t, Length: 257, Offset: s.DrawOffset(), Nulls: s.DrawPattern(), Domain: d})
				var written, read []kernels.Scalar
				for _, v := range kernels.Scalars(c) {
					w, err := kernels.CastScalar(v, text, kernels.CastOptions{})
					s.must(err)
					written = append(written, w)
					read = append(read, v)
				}
				note := fmt.Sprintf("%s read back from %s", t, text)
				run := castTo(s.FromScalars(text, written...), t, kernels.CastOptions{})
				s.Check(Call{Case: Case{Type: text, Length: 257}, Note: note}, run)
				s.golden(note, run, s.FromScalars(t, read...))
			}
		}
	}
}

func castGolden(s *Suite) {
	p, text := arrow.PrimitiveTypes, arrow.BinaryTypes.String
	berlin := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}
	naive := &arrow.TimestampType{Unit: arrow.Microsecond}
	date, clock := arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time32s
	money := &arrow.Decimal128Type{Precision: 5, Scale: 2}
	str := kernels.String
	const noon = 1709208000 // 2024-02-29 12:00:00 UTC
	for _, g := range []struct {
		from kernels.Scalar
		to   arrow.DataType
		wrap bool
		want kernels.Scalar
		says []string // of the error, where it is one
	}{
		{kernels.Int64(300), p.Int8, true, kernels.Int(p.Int8, 44), nil},
		{kernels.Int64(300), p.Int8, false, kernels.Scalar{}, []string{"300", "int8"}},
		{kernels.Float64(-2.9), p.Int32, true, kernels.Int(p.Int32, -2), nil},
		{kernels.Float64(-2.9), p.Int32, false, kernels.Scalar{}, []string{"-2.9", "int32"}},
		{kernels.Float64(1e300), p.Int16, true, kernels.Int(p.Int16, 32767), nil},
		{kernels.Float64(-1), p.Uint64, true, kernels.Int(p.Uint64, 0), nil},
		{kernels.Int64(1<<53 + 1), p.Float64, false, kernels.Scalar{}, []string{"9007199254740993"}},
		{str("-123"), p.Int64, false, kernels.Int64(-123), nil},
		{str("12x"), p.Int64, false, kernels.Scalar{}, []string{`"12x"`, "int64"}},
		{str(""), p.Float64, true, kernels.Scalar{}, []string{`""`, "float64"}},
		{str("1e3"), p.Float64, false, kernels.Float64(1000), nil},
		{kernels.Float64(0.1), text, false, str("0.1"), nil},
		{kernels.Float64(1234567), text, false, str("1234567"), nil},
		{str("2024-02-29"), date, false, kernels.Int(date, 19782), nil},
		{str("2023-02-29"), date, false, kernels.Scalar{}, []string{"2023-02-29", "date32"}},
		{str("13:05"), clock, false, kernels.Int(clock, 13*3600+5*60), nil},
		{str("2024-02-29T12:00:00.25"), naive, false, kernels.Int(naive, noon*1e6+250000), nil},
		{str("2024-02-29 13:00:00+01:00"), berlin, false, kernels.Int(berlin, noon*1000), nil},
		{str("2024-02-29 13:00:00"), berlin, false, kernels.Scalar{}, []string{"offset"}},
		{str("2024-02-29 13:00:00Z"), naive, false, kernels.Scalar{}, []string{"offset"}},
		{kernels.Int(berlin, noon*1000), text, false, str("2024-02-29 13:00:00.000+01:00"), nil},
		{kernels.Int(naive, -1), text, false, str("1969-12-31 23:59:59.999999"), nil},
		{kernels.Int(berlin, (noon+11*3600)*1000), date, false, kernels.Int(date, 19783), nil},
		{kernels.Int(date, 19782), naive, false, kernels.Int(naive, 19782*86400*1e6), nil},
		{kernels.Int(naive, noon*1e6+1), arrow.FixedWidthTypes.Timestamp_s, false, kernels.Scalar{}, []string{"precision"}},
		{str("123.456"), money, true, decimal(money, 12345), nil},
		{str("123.456"), money, false, kernels.Scalar{}, []string{"123.456"}},
		{str("-1.5e2"), money, false, decimal(money, -15000), nil},
		{kernels.Int64(1000), money, false, kernels.Scalar{}, []string{"1000"}},
		{kernels.Float64(2.345), money, false, decimal(money, 235), nil}, // 2.345 lies above 2.345 by 1e-16
		{decimal(money, -105), text, false, str("-1.05"), nil},
		{decimal(money, -105), p.Int8, true, kernels.Int(p.Int8, -1), nil},
		{decimal(money, -105), p.Float64, false, kernels.Float64(-1.05), nil},
		{kernels.Bool(true), p.Int16, false, kernels.Int(p.Int16, 1), nil},
		{str("True"), arrow.FixedWidthTypes.Boolean, false, kernels.Bool(true), nil},
		{kernels.Text(arrow.BinaryTypes.Binary, "\xff"), text, true, kernels.Scalar{}, []string{"UTF-8"}},
	} {
		from := g.from.Type()
		if !s.entryTypes.Has(from.ID()) {
			continue
		}
		c := s.FromScalars(from, kernels.Null(from), g.from)
		run := castTo(c, g.to, kernels.CastOptions{Wrap: g.wrap})
		note := fmt.Sprintf("%s of %s to %s wrap %v", g.from, from, g.to, g.wrap)
		if g.says != nil {
			s.Check(Call{Case: Case{Type: from, Length: 2}, Note: note, Text: append(g.says, "row 1")}, run)
			continue
		}
		s.golden(note, run, s.FromScalars(g.to, kernels.Null(g.to), g.want))
	}
}

func decimal(t arrow.DataType, unscaled int64) kernels.Scalar {
	return kernels.Decimal(t, decimal128.FromI64(unscaled))
}

func castRefuses(s *Suite) {
	bytes := s.FromScalars(arrow.BinaryTypes.Binary, kernels.Text(arrow.BinaryTypes.Binary, "a"))
	s.refuses("bytes to numbers", castTo(bytes, arrow.PrimitiveTypes.Int64, kernels.CastOptions{}), "binary", "int64")
	date := s.FromScalars(arrow.FixedWidthTypes.Date32, kernels.Int(arrow.FixedWidthTypes.Date32, 1))
	s.refuses("dates to floats", castTo(date, arrow.PrimitiveTypes.Float64, kernels.CastOptions{}), "date32", "float64")
	s.refuses("to nothing", castTo(date, nil, kernels.CastOptions{}), "date32")
	some := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	s.refuses("a zone that is none", castTo(some, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Nowhere"}, kernels.CastOptions{}), "Nowhere")
}

func benchCast(b *Bencher) {
	p := arrow.PrimitiveTypes
	for _, pair := range [][2]arrow.DataType{{p.Int64, p.Float64}, {p.Float64, p.Int32}, {p.Int64, arrow.BinaryTypes.String}, {arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us}} {
		c := b.Column(pair[0], Small, 0)
		b.Measure(b.Name(pair[0], 0, "to="+short(pair[1])), Bytes(c), func(e *Env) (Result, error) {
			return One(e.Cast(e.Ctx, e.Stream, e.On(c), pair[1], kernels.CastOptions{Wrap: true}))
		})
	}
}
