package kerneltest

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func isNull(s *Suite) {
	for c := range s.Cases(kernels.AllTypes) {
		q := kernels.NullTest(s.Rand.IntN(int(kernels.IsNaNTest) + 1))
		c.Domain = s.DrawDomain()
		column := s.Column(c)
		call := Call{Case: c, Note: q.String()}
		run := func(e *Env) (Result, error) { return One(e.IsNull(e.Ctx, e.Stream, q, e.On(column))) }
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
}

func fillNull(s *Suite) {
	for c := range s.Cases(kernels.KeyTypes) {
		c.Domain = s.DrawDomain()
		column := s.Column(c)
		fill := s.Side(s.Another(c), c.Type, s.Rand.IntN(2) == 0)
		if c.Length == s.Long() {
			fill = s.Column(s.Another(c))
		}
		call := Call{Case: c, Note: "with " + form(fill)}
		run := func(e *Env) (Result, error) {
			return One(e.FillNull(e.Ctx, e.Stream, e.On(column), e.Datum(fill)))
		}
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(3) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	fillRefuses(s)
}

func fillRefuses(s *Suite) {
	i64 := arrow.PrimitiveTypes.Int64
	c := s.FromScalars(i64, kernels.Int64(1), kernels.Null(i64))
	run := func(c *memory.Column, fill kernels.Datum) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) {
			return One(e.FillNull(e.Ctx, e.Stream, e.On(c), e.Datum(fill)))
		}
	}
	s.refuses("lengths", run(c, s.FromScalars(i64, kernels.Int64(1))), "2", "1")
	s.refuses("types", run(c, kernels.String("a")), "int64", "utf8")
	// A dictionary with room for no more values than it has.
	small := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: i64}
	if s.entryTypes.Has(arrow.DICTIONARY) {
		full := make([]kernels.Scalar, 129)
		for i := range full {
			full[i] = kernels.Int64(int64(i))
		}
		full[128] = kernels.Null(i64)
		column := s.FromScalars(small, full...)
		s.golden("a full dictionary", run(column, kernels.Int64(5)), s.FromScalars(small, append(full[:128:128], kernels.Int64(5))...))
		r, err := s.tested.call(context.Background(), run(column, kernels.Int64(500)))
		r.Release()
		if !errors.Is(err, device.ErrValue) {
			s.Errorf("%s: 129 values in a dictionary with int8 indices: %v", s.kernel, err)
		}
	}
}

func benchFillNull(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String} {
		c := b.Column(t, Keys, 10)
		v := kernels.ScalarAt(b.Column(t, Keys, 0), 0)
		b.Measure(b.Name(t, 10), 2*Bytes(c), func(e *Env) (Result, error) {
			return One(e.FillNull(e.Ctx, e.Stream, e.On(c), v))
		})
	}
}
