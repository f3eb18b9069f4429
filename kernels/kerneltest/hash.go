package kerneltest

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func hash(s *Suite) {
	types := s.Types(kernels.KeyTypes)
	for c := range s.Cases(kernels.KeyTypes) {
		c.Domain = s.DrawDomain()
		keys := []*memory.Column{s.Column(c)}
		for range s.Rand.IntN(3) {
			more := s.Another(c)
			more.Type = types[s.Rand.IntN(len(types))]
			keys = append(keys, s.Column(more))
		}
		seed := s.Rand.Uint64() >> s.Rand.IntN(65)
		call := Call{Case: c, Note: fmt.Sprintf("%d keys, seed %d", len(keys), seed)}
		run := hashOf(seed, keys...)
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	hashGolden(s)
	hashAlike(s)
	short := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	long := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1), kernels.Int64(2))
	s.refuses("lengths", hashOf(0, short, long), "1", "2")
	s.refuses("no keys", hashOf(0), "no keys")
}

func hashOf(seed uint64, keys ...*memory.Column) func(*Env) (Result, error) {
	return func(e *Env) (Result, error) {
		var on []*memory.Column
		for _, k := range keys {
			on = append(on, e.On(k))
		}
		return One(e.Hash(e.Ctx, e.Stream, on, seed))
	}
}

// hashGolden holds hashes to those that the xxHash project's own test vectors
// and its Python binding give.
func hashGolden(s *Suite) {
	text := arrow.BinaryTypes.String
	u := func(v uint64) kernels.Scalar { return kernels.Int(arrow.PrimitiveTypes.Uint64, int64(v)) }
	for value, want := range map[string]uint64{
		"":    0xef46db3751d8e999,
		"a":   0xd24ec4f1a98c6e5b,
		"abc": 0x44bc2cf5ad770999,
		"Nobody inspects the spammish repetition": 0xfbcea83c8a378bf1,
	} {
		s.golden(value, hashOf(0, s.FromScalars(text, kernels.String(value))), s.FromScalars(arrow.PrimitiveTypes.Uint64, u(want)))
	}
}

// hashAlike checks that equal keys hash alike whatever their type's width.
func hashAlike(s *Suite) {
	p, f, text := arrow.PrimitiveTypes, kernels.Float64, kernels.String("some key of more than thirty-two bytes")
	dict := &arrow.DictionaryType{IndexType: p.Int16, ValueType: arrow.BinaryTypes.String}
	day := kernels.Int(arrow.FixedWidthTypes.Date32, -1)
	for _, pair := range [][2]*memory.Column{
		{s.FromScalars(p.Int8, kernels.Int(p.Int8, -1)), s.FromScalars(p.Int64, kernels.Int64(-1))},
		{s.FromScalars(p.Uint8, kernels.Int(p.Uint8, 200)), s.FromScalars(p.Int16, kernels.Int(p.Int16, 200))},
		{s.FromScalars(day.Type(), day), s.FromScalars(p.Int64, kernels.Int64(-1))},
		{s.FromScalars(p.Float64, f(math.NaN())), s.FromScalars(p.Float64, f(otherNaN))},
		{s.FromScalars(p.Float64, f(0)), s.FromScalars(p.Float64, f(math.Copysign(0, -1)))},
		{s.FromScalars(p.Float32, kernels.Float(p.Float32, 1.5)), s.FromScalars(p.Float64, f(1.5))},
		{s.FromScalars(arrow.BinaryTypes.String, text), s.FromScalars(arrow.BinaryTypes.LargeBinary, text.As(arrow.BinaryTypes.LargeBinary))},
		{s.FromScalars(arrow.BinaryTypes.String, text), s.FromScalars(dict, text)},
		{s.FromScalars(p.Int8, kernels.Null(p.Int8)), s.FromScalars(arrow.BinaryTypes.String, kernels.Null(arrow.BinaryTypes.String))},
	} {
		if !s.entryTypes.Has(pair[0].Type().ID()) || !s.entryTypes.Has(pair[1].Type().ID()) {
			continue
		}
		want, err := s.tested.call(context.Background(), hashOf(7, pair[0]))
		if err != nil {
			s.Errorf("%s: %v", pair[0].Type(), err)
			continue
		}
		s.golden(fmt.Sprintf("%s as %s", pair[0].Type(), pair[1].Type()), hashOf(7, pair[1]), want.Columns[0])
		want.Release()
	}
}

func benchHash(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
		for _, nulls := range []int{0, 10} {
			c := b.Column(t, Keys, nulls)
			b.Measure(b.Name(t, nulls), Bytes(c)+8*b.Rows, func(e *Env) (Result, error) {
				return One(e.Hash(e.Ctx, e.Stream, []*memory.Column{e.On(c)}, 0))
			})
		}
	}
}
