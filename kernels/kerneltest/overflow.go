package kerneltest

import (
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// edge is a sum or product at the edge of its type: want is nil where it does not
// fit.
type edge struct {
	op     kernels.Aggregation
	t      arrow.DataType
	values []kernels.Scalar
	want   *kernels.Scalar
}

// edges are those of every type that can pass the edge in a few values.
func edges() []edge {
	var all []edge
	add := func(op kernels.Aggregation, t arrow.DataType, want *kernels.Scalar, values ...kernels.Scalar) {
		all = append(all, edge{op, t, values, want})
	}
	some := func(s kernels.Scalar) *kernels.Scalar { return &s }
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Duration_us} {
		of := func(v int64) kernels.Scalar { return kernels.Int(t, v) }
		most, least := of(math.MaxInt64), of(math.MinInt64)
		add(kernels.Sum, t, nil, most, of(1))
		add(kernels.Sum, t, nil, least, of(-1))
		add(kernels.Sum, t, nil, most, most, most, least)
		add(kernels.Sum, t, some(of(0)), most, of(1), least)
		add(kernels.Sum, t, some(least), least, most, of(math.MinInt64+1))
		add(kernels.Sum, t, some(most), of(math.MaxInt64-1), kernels.Null(t), of(1))
		add(kernels.SumWrapping, t, some(least), most, of(1))
		add(kernels.SumWrapping, t, some(of(-2)), most, most)
	}
	u64, i64, i32 := arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32
	unsigned := func(v uint64) kernels.Scalar { return kernels.Int(u64, int64(v)) }
	add(kernels.Sum, u64, nil, unsigned(math.MaxUint64), unsigned(1))
	add(kernels.Sum, u64, nil, unsigned(1<<63), unsigned(1<<63))
	add(kernels.Sum, u64, some(unsigned(math.MaxUint64)), unsigned(1<<63), unsigned(1<<63-1))
	add(kernels.SumWrapping, u64, some(unsigned(0)), unsigned(math.MaxUint64), unsigned(1))
	add(kernels.Product, u64, nil, unsigned(1<<32), unsigned(1<<32))
	add(kernels.Product, u64, some(unsigned(1<<63)), unsigned(1<<32), unsigned(1<<31))
	add(kernels.Product, i64, nil, kernels.Int64(1<<32), kernels.Int64(1<<31))
	add(kernels.Product, i64, some(kernels.Int64(math.MinInt64)), kernels.Int64(1<<32), kernels.Int64(-1<<31))
	add(kernels.Product, i64, some(kernels.Int64(0)), kernels.Int64(1<<62), kernels.Int64(1<<62), kernels.Int64(0))
	add(kernels.Product, i64, nil, kernels.Int64(math.MinInt64), kernels.Int64(-1))
	var many []kernels.Scalar
	for range 30 {
		many = append(many, kernels.Int64(1<<40))
	}
	add(kernels.Product, i64, nil, many...)
	add(kernels.Product, i64, some(kernels.Int64(0)), append(many, kernels.Int64(0))...)
	add(kernels.Product, i32, nil, kernels.Int(i32, 1<<30), kernels.Int(i32, 1<<30), kernels.Int(i32, 8))
	for _, scale := range []int32{0, 2, 38} {
		t := &arrow.Decimal128Type{Precision: 38, Scale: scale}
		of := func(text string) kernels.Scalar {
			v, _ := new(big.Int).SetString(text, 10)
			return kernels.Decimal(t, decimal128.FromBigInt(v))
		}
		nines := "9999999999999999999999999999999999999"
		add(kernels.Sum, t, nil, of("9"+nines), of("1"))
		add(kernels.Sum, t, nil, of("90000000000000000000000000000000000000"), of("90000000000000000000000000000000000000"))
		add(kernels.Sum, t, nil, of("-9"+nines), of("-9"+nines), of("-9"+nines), of("-9"+nines))
		add(kernels.Sum, t, some(of("9"+nines)), of("9"+nines), of("9"+nines), of("-9"+nines))
		add(kernels.Sum, t, some(of("1")), of("9"+nines), of("9"+nines), of("9"+nines), of("-9"+nines), of("-9"+nines), of("-9"+nines), of("1"))
	}
	return all
}

// overflows holds sums and products to the edges of their types, as made gives
// them of a column.
func overflows(s *Suite, made func(op kernels.Aggregation, values *memory.Column) func(*Env) (Result, error)) {
	has := map[arrow.Type]bool{}
	for _, t := range s.Types(kernels.KeyTypes) {
		has[t.ID()] = true
	}
	for i, c := range edges() {
		if !has[c.t.ID()] {
			continue
		}
		s.scope(func() bool {
			values := s.FromScalars(c.t, c.values...)
			call := Call{Case: Case{Type: c.t, Length: int64(len(c.values))}, Note: fmt.Sprintf("edge %d: %s of %v", i, c.op, c.values)}
			run := made(c.op, values)
			if c.want == nil {
				call.Text = []string{fmt.Sprintf("the %s does not fit", c.op)}
				s.Check(call, run)
				return true
			}
			t, err := kernels.AggregateType(c.op, c.t)
			s.must(err)
			s.Check(call, run)
			s.golden(call.Note, run, s.FromScalars(t, c.want.As(t)))
			return true
		})
	}
}

// far is a column of numbers whose differences float64 would lose, and the variance
// of them.
type far struct {
	values   *memory.Column
	variance float64
}

func (f far) want(op kernels.Aggregation) kernels.Scalar {
	if op == kernels.Std {
		return kernels.Float64(math.Sqrt(f.variance))
	}
	return kernels.Float64(f.variance)
}

// farWithin is how far from that a backend may be.
var farWithin = Tolerance{Rel: 1e-12}

// farNumbers are such columns: four values, a step apart.
func farNumbers(s *Suite) []far {
	var all []far
	for _, t := range s.Types(kernels.TypesOf(arrow.INT64, arrow.UINT64, arrow.DECIMAL128)) {
		base, unit := big.NewInt(math.MaxInt64-8), 1.0
		if d, ok := t.(*arrow.Decimal128Type); ok {
			if base.Exp(big.NewInt(10), big.NewInt(int64(d.Precision-1)), nil); d.Precision < 18 {
				continue
			}
			unit = math.Pow10(int(d.Scale))
		}
		values := []kernels.Scalar{kernels.Null(t)}
		for i := range int64(4) {
			v := new(big.Int).Add(base, big.NewInt(2*i))
			if t.ID() == arrow.DECIMAL128 {
				values = append(values, kernels.Decimal(t, decimal128.FromBigInt(v)))
			} else {
				values = append(values, kernels.Int(t, v.Int64()))
			}
		}
		step := 1 / unit
		all = append(all, far{s.FromScalars(t, values...), 5 * step * step})
	}
	return all
}
