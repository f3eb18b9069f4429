package kerneltest

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

const numberOps = kernels.Modulo + 1

func arithmetic(s *Suite) {
	for c := range s.Cases(kernels.NumberTypes | kernels.DecimalTypes | kernels.TemporalTypes) {
		op, a, b := s.arithmeticTypes(c.Type)
		o := kernels.ArithmeticOptions{Checked: s.Rand.IntN(2) == 0}
		if c.Length == s.Long() {
			op, o.Checked = kernels.Add, false
		}
		c.Domain = s.DrawDomain()
		x := s.Side(c, a, false)
		y := s.Side(s.Another(c), b, s.Rand.IntN(3) == 0)
		if !arrow.TypeEqual(a, b) && arrow.TypeEqual(b, c.Type) || s.Rand.IntN(4) == 0 {
			x, y = s.Side(s.Another(c), a, s.Rand.IntN(3) == 0), s.Side(c, b, false)
		}
		if c.Length == s.Long() {
			x, y = s.Column(c), s.Column(s.Another(c))
		}
		call := Call{Case: c, Types: []arrow.DataType{a, b}, Note: fmt.Sprintf("%s %s %s %+v", form(x), op, form(y), o)}
		run := func(e *Env) (Result, error) {
			return One(e.Arithmetic(e.Ctx, e.Stream, op, e.Datum(x), e.Datum(y), o))
		}
		if works := s.CheckRow(call, run); works && (c.Length == 65 && s.Rand.IntN(8) == 0 || c.Length == s.Long()) {
			s.Faults(call, run)
		}
	}
	arithmeticGolden(s)
	arithmeticRefuses(s)
}

// arithmeticTypes draws an operation and operands of which one is of type t.
func (s *Suite) arithmeticTypes(t arrow.DataType) (op kernels.ArithmeticOp, a, b arrow.DataType) {
	partners := []arrow.DataType{t}
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		partners = append(partners, &arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 20, Scale: 0})
	case *arrow.DurationType:
		partners = append(partners, arrow.PrimitiveTypes.Int64, &arrow.TimestampType{Unit: t.Unit}, arrow.FixedWidthTypes.Date32)
	case *arrow.TimestampType:
		partners = append(partners, &arrow.DurationType{Unit: t.Unit})
	case *arrow.Date32Type, *arrow.Date64Type:
		partners = append(partners, arrow.FixedWidthTypes.Duration_ms, arrow.FixedWidthTypes.Duration_ns)
	}
	for {
		op = kernels.ArithmeticOp(s.Rand.IntN(int(numberOps)))
		a, b = t, partners[s.Rand.IntN(len(partners))]
		if s.Rand.IntN(2) == 0 {
			a, b = b, a
		}
		if _, err := kernels.ArithmeticType(op, a, b); err == nil {
			return op, a, b
		}
	}
}

// arithmeticGolden holds results to values written down here.
func arithmeticGolden(s *Suite) {
	i8, i64, f64 := arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64
	least := kernels.Int64(math.MinInt64)
	for _, g := range []struct {
		op      kernels.ArithmeticOp
		t       arrow.DataType
		x, y    kernels.Scalar
		checked bool
		want    kernels.Scalar
		fails   bool
	}{
		{kernels.Add, i8, kernels.Int(i8, 127), kernels.Int(i8, 1), false, kernels.Int(i8, -128), false},
		{kernels.Add, i8, kernels.Int(i8, 127), kernels.Int(i8, 1), true, kernels.Scalar{}, true},
		{kernels.Subtract, i64, least, kernels.Int64(1), false, kernels.Int64(math.MaxInt64), false},
		{kernels.Multiply, i64, kernels.Int64(1 << 62), kernels.Int64(2), true, kernels.Scalar{}, true},
		{kernels.Multiply, i64, kernels.Int64(-1 << 62), kernels.Int64(2), true, least, false},
		{kernels.Divide, i64, least, kernels.Int64(-1), false, least, false},
		{kernels.Divide, i64, least, kernels.Int64(-1), true, kernels.Scalar{}, true},
		{kernels.Divide, i64, kernels.Int64(-7), kernels.Int64(2), true, kernels.Int64(-3), false},
		{kernels.Modulo, i64, kernels.Int64(-7), kernels.Int64(2), true, kernels.Int64(-1), false},
		{kernels.Modulo, i64, least, kernels.Int64(-1), true, kernels.Int64(0), false},
		{kernels.Divide, i64, kernels.Int64(1), kernels.Int64(0), false, kernels.Scalar{}, true},
		{kernels.Modulo, i64, kernels.Int64(1), kernels.Int64(0), false, kernels.Scalar{}, true},
		{kernels.Divide, f64, kernels.Float64(-1), kernels.Float64(0), true, kernels.Float64(math.Inf(-1)), false},
		{kernels.Modulo, f64, kernels.Float64(-5.5), kernels.Float64(2), true, kernels.Float64(-1.5), false},
	} {
		if !s.entryTypes.Has(g.t.ID()) {
			continue
		}
		// Row 0 is null over the same operands: nothing there is an error.
		x := s.FromScalars(g.t, kernels.Null(g.t), g.x)
		y := s.FromScalars(g.t, g.y, g.y)
		run := func(e *Env) (Result, error) {
			return One(e.Arithmetic(e.Ctx, e.Stream, g.op, e.On(x), e.On(y), kernels.ArithmeticOptions{Checked: g.checked}))
		}
		call := Call{Case: Case{Type: g.t, Length: 2}, Note: fmt.Sprintf("%s %s %s checked %v", g.x, g.op, g.y, g.checked)}
		if g.fails {
			call.Text = []string{"row 1"}
		}
		s.Check(call, run)
		if !g.fails {
			s.golden(call.Note, run, s.FromScalars(g.t, kernels.Null(g.t), g.want))
		}
	}
}

func arithmeticRefuses(s *Suite) {
	i64 := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1), kernels.Int64(2))
	short := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	f64 := s.FromScalars(arrow.PrimitiveTypes.Float64, kernels.Float64(1), kernels.Float64(2))
	text := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a"), kernels.String("b"))
	run := func(x, y kernels.Datum) func(*Env) (Result, error) {
		return func(e *Env) (Result, error) {
			return One(e.Arithmetic(e.Ctx, e.Stream, kernels.Add, e.Datum(x), e.Datum(y), kernels.ArithmeticOptions{}))
		}
	}
	s.refuses("lengths", run(i64, short), "2", "1")
	s.refuses("types", run(i64, f64), "int64", "float64")
	s.refuses("strings", run(text, text), "utf8")
	s.refuses("scalars", run(kernels.Int64(1), kernels.Int64(2)), "scalar")
	s.refuses("no type", run(i64, kernels.Scalar{}), "argument 1")
}

func benchArithmetic(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int32} {
		for _, nulls := range []int{0, 10} {
			x, y := b.Column(t, Small, nulls), b.Column(t, Small, nulls)
			one := kernels.Int(t, 1)
			if kernels.FloatTypes.Has(t.ID()) {
				one = kernels.Float(t, 1)
			}
			for _, o := range []kernels.ArithmeticOptions{{}, {Checked: true}} {
				for _, right := range []kernels.Datum{y, one} {
					bytes := 2 * Bytes(x)
					if shape(right) == "column" {
						bytes += Bytes(y)
					}
					b.Measure(b.Name(t, nulls, fmt.Sprintf("add=%s/checked=%v", shape(right), o.Checked)), bytes, func(e *Env) (Result, error) {
						return One(e.Arithmetic(e.Ctx, e.Stream, kernels.Add, e.On(x), e.Datum(right), o))
					})
				}
			}
		}
	}
}

func shape(d kernels.Datum) string {
	if _, ok := d.(kernels.Scalar); ok {
		return "scalar"
	}
	return "column"
}
