package kerneltest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// userFunctions are functions as a user registers them, by the type of their
// first argument.
var userFunctions = sync.OnceValues(func() (map[arrow.Type]*kernels.Function, error) {
	p, date := arrow.PrimitiveTypes, arrow.FixedWidthTypes.Date32
	all := map[arrow.Type]*kernels.Function{}
	for _, f := range []struct {
		name   string
		types  []arrow.DataType
		host   any
		source string
	}{
		{"kerneltest_mix", []arrow.DataType{p.Int64, p.Int64, p.Int64}, func(out, a, b []int64) {
			for i := range out {
				out[i] = a[i]*3 - b[i]
			}
		}, `FN i64 kerneltest_mix_three(i64 a) { return (i64)((u64)a * 3); }
FN i64 kerneltest_mix(i64 a, i64 b) { return (i64)((u64)kerneltest_mix_three(a) - (u64)b); }`},
		{"kerneltest_mean", []arrow.DataType{p.Float64, p.Float64, p.Float64}, func(out, a, b []float64) {
			for i := range out {
				out[i] = (a[i] + b[i]) * 0.5
			}
		}, `FN f64 kerneltest_mean(f64 a, f64 b) { return (a + b) * 0.5; }`},
		{"kerneltest_widen", []arrow.DataType{p.Float32, p.Int16, p.Float64}, func(out []float64, a []float32, b []int16) {
			for i := range out {
				out[i] = float64(a[i]) + float64(b[i])
			}
		}, `FN f64 kerneltest_widen(f32 a, i16 b) { return (f64)a + (f64)b; }`},
		{"kerneltest_day", []arrow.DataType{date, p.Uint8, date, date}, func(out []int32, a []int32, b []uint8, c []int32) {
			for i := range out {
				out[i] = a[i] ^ int32(b[i]) ^ c[i]
			}
		}, `FN i32 kerneltest_day(i32 a, u8 b, i32 c) { return a ^ (i32)b ^ c; }`},
		{"kerneltest_odd", []arrow.DataType{p.Uint8, p.Uint8}, func(out, a []uint8) {
			for i := range out {
				out[i] = a[i] & 1
			}
		}, `FN u8 kerneltest_odd(u8 a) { return a & 1; }`},
	} {
		fn, err := kernels.Register(f.name, f.types, f.host, f.source)
		if err != nil {
			return nil, err
		}
		all[f.types[0].ID()] = fn
	}
	return all, registerSame(all)
})

// registerSame registers a function that gives its argument back for each type
// that has no function yet.
func registerSame(all map[arrow.Type]*kernels.Function) error {
	for _, f := range []struct {
		t    arrow.DataType
		host any
		c    string
	}{
		{arrow.PrimitiveTypes.Int8, keepAll[int8], "i8"},
		{arrow.PrimitiveTypes.Int16, keepAll[int16], "i16"},
		{arrow.PrimitiveTypes.Int32, keepAll[int32], "i32"},
		{arrow.PrimitiveTypes.Uint16, keepAll[uint16], "u16"},
		{arrow.PrimitiveTypes.Uint32, keepAll[uint32], "u32"},
		{arrow.PrimitiveTypes.Uint64, keepAll[uint64], "u64"},
		{arrow.FixedWidthTypes.Date64, keepAll[int64], "i64"},
		{arrow.FixedWidthTypes.Time32s, keepAll[int32], "i32"},
		{arrow.FixedWidthTypes.Time64us, keepAll[int64], "i64"},
		{arrow.FixedWidthTypes.Timestamp_us, keepAll[int64], "i64"},
		{arrow.FixedWidthTypes.Duration_ms, keepAll[int64], "i64"},
	} {
		name := fmt.Sprintf("kerneltest_same_%s", f.t.ID())
		name = strings.ToLower(name)
		fn, err := kernels.Register(name, []arrow.DataType{f.t, f.t}, f.host, fmt.Sprintf("FN %s %s(%s a) { return a; }", f.c, name, f.c))
		if err != nil {
			return err
		}
		all[f.t.ID()] = fn
	}
	return nil
}

func keepAll[T any](out, a []T) { copy(out, a) }

func apply(s *Suite) {
	functions, err := userFunctions()
	s.must(err)
	var types kernels.Types
	for id := range functions {
		types |= kernels.TypesOf(id)
	}
	for c := range s.Cases(types) {
		f := functions[c.Type.ID()]
		c.Type = f.Args()[0]
		args := []kernels.Datum{s.Column(c)}
		for _, t := range f.Args()[1:] { // scalars at one length: a device compiles each form of a call
			with := s.Another(c)
			if with.Nulls == NoBitmap && s.extent != Full {
				with.Nulls = Half
			}
			args = append(args, s.Side(with, t, c.Length == 65 || s.extent == Full && s.Rand.IntN(4) == 0))
		}
		call := Call{Case: c, Note: f.Name()}
		run := applied(f, args...)
		s.Check(call, run)
		if c.Length == 65 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	applyRefuses(s, functions[arrow.INT64])
}

func applied(f *kernels.Function, args ...kernels.Datum) func(*Env) (Result, error) {
	return func(e *Env) (Result, error) {
		there := make([]kernels.Datum, len(args))
		for i, a := range args {
			there[i] = e.Datum(a)
		}
		return One(e.Apply(e.Ctx, e.Stream, f, there))
	}
}

func applyRefuses(s *Suite, f *kernels.Function) {
	i64 := arrow.PrimitiveTypes.Int64
	one := s.FromScalars(i64, kernels.Int64(1))
	two := s.FromScalars(i64, kernels.Int64(1), kernels.Int64(2))
	real := s.FromScalars(arrow.PrimitiveTypes.Float64, kernels.Float64(1))
	s.refuses("lengths", applied(f, one, two), "1", "2")
	s.refuses("a type", applied(f, one, real), f.Name(), "argument 1", "float64")
	s.refuses("too few", applied(f, one), f.Name(), "2 arguments")
	s.refuses("scalars only", applied(f, kernels.Int64(1), kernels.Int64(2)), "scalars")
	s.refuses("no function", applied(nil, one), "no function")
}

func benchApply(b *Bencher) {
	functions, err := userFunctions()
	if err != nil {
		b.Fatal(err)
	}
	f := functions[arrow.FLOAT64]
	x, y := b.Column(arrow.PrimitiveTypes.Float64, Small, 0), b.Column(arrow.PrimitiveTypes.Float64, Small, 10)
	b.Measure(b.Name(x.Type(), 10, f.Name()), Bytes(x)+Bytes(y)+8*b.Rows, func(e *Env) (Result, error) {
		return One(e.Apply(e.Ctx, e.Stream, f, []kernels.Datum{e.On(x), e.On(y)}))
	})
}

// resultsOf is a list of columns as a Result.
func resultsOf(cols []*memory.Column, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return Result{Columns: cols}, nil
}

// stepName says what a step does, for the text of a failure.
func stepName(i int, st kernels.Step) string {
	text := fmt.Sprintf("%d:%d.%d%v %s", i, st.Kind, st.Op, st.Args, st.Type)
	if st.Kind == kernels.StepScalar {
		text += " " + st.Value.String()
	}
	return text
}
