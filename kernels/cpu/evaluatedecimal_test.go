package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// decimalPrograms have steps of each kind that takes decimals: columns 0 and 1 of
// decimals, 2 of bools, 3 of int64.
func decimalPrograms(t *testing.T, a, b *arrow.Decimal128Type) map[string]*kernels.Program {
	boolean, whole := arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int64
	one := kernels.Decimal(&arrow.Decimal128Type{Precision: 1}, decimal128.FromI64(1))
	start := []kernels.Step{
		{Kind: kernels.StepColumn, Type: a}, {Kind: kernels.StepColumn, Column: 1, Type: b}, {Kind: kernels.StepColumn, Column: 2, Type: boolean},
		{Kind: kernels.StepColumn, Column: 3, Type: whole}, {Kind: kernels.StepScalar, Value: one, Type: one.Type()},
		{Kind: kernels.StepScalar, Value: kernels.Null(a), Type: a},
	}
	all := map[string]*kernels.Program{}
	add := func(name string, steps ...kernels.Step) {
		p := &kernels.Program{Steps: append(append([]kernels.Step{}, start...), steps...)}
		for i := range steps {
			p.Results = append(p.Results, len(start)+i)
		}
		all[name] = p
	}
	calc := func(op kernels.ArithmeticOp, x, y int, tx, ty arrow.DataType) kernels.Step {
		typ, err := kernels.ArithmeticType(op, tx, ty)
		require.NoError(t, err)
		return kernels.Step{Kind: kernels.StepArithmetic, Op: int(op), Args: []int{x, y}, Type: typ}
	}
	for op := kernels.Add; op <= kernels.Multiply; op++ {
		add(fmt.Sprint("columns ", op), calc(op, 0, 1, a, b))
		add(fmt.Sprint("itself ", op), calc(op, 0, 0, a, a))
		add(fmt.Sprint("right ", op), calc(op, 0, 4, a, one.Type()))
		add(fmt.Sprint("left ", op), calc(op, 4, 1, one.Type(), b))
		add(fmt.Sprint("null ", op), calc(op, 0, 5, a, a))
		add(fmt.Sprint("scalars ", op), calc(op, 4, 5, one.Type(), a))
	}
	less := calc(kernels.Subtract, 4, 1, one.Type(), b)
	price := calc(kernels.Multiply, 0, 6, a, less.Type)
	more := calc(kernels.Add, 4, 1, one.Type(), b)
	add("charge", less, price, more, calc(kernels.Multiply, 7, 8, price.Type, more.Type))
	for op := range int(kernels.GreaterEqual) + 1 {
		add(fmt.Sprint("compare ", op), kernels.Step{Kind: kernels.StepCompare, Op: op, Args: []int{0, 0}, Type: boolean},
			kernels.Step{Kind: kernels.StepCompare, Op: op, Args: []int{5, 0}, Type: boolean})
	}
	add("choice", kernels.Step{Kind: kernels.StepIfElse, Args: []int{2, 0, 5}, Type: a}, kernels.Step{Kind: kernels.StepFillNull, Args: []int{6, 0}, Type: a},
		kernels.Step{Kind: kernels.StepFillNull, Args: []int{0, 5}, Type: a}, calc(kernels.Multiply, 7, 0, a, a), kernels.Step{Kind: kernels.StepIsNull, Args: []int{6}, Type: boolean})
	wider := &arrow.Decimal128Type{Precision: 38, Scale: a.Scale + 3}
	add("casts", kernels.Step{Kind: kernels.StepCast, Args: []int{0}, Type: wider}, kernels.Step{Kind: kernels.StepCast, Args: []int{3}, Type: a},
		kernels.Step{Kind: kernels.StepCast, Args: []int{0}, Type: arrow.PrimitiveTypes.Float64})
	return all
}

// Programs with decimals give what the kernels give one after another, on every tier:
// of values of all lengths, at the borders of 64 bits, and of blocks of both kinds.
func TestEvaluateDecimals(t *testing.T) {
	const rows = 3*evalRows + 77
	r := rand.New(rand.NewPCG(72, 1))
	dev := host.New()
	s, err := dev.NewStream()
	require.NoError(t, err)
	defer s.Close()
	ctx := context.Background()
	for _, shape := range []struct {
		name string
		bits int // of values
		wide int // one in so many rows has more than 64 bits; 0 for none
	}{{"short", 24, 0}, {"long", 40, 0}, {"border", 62, 0}, {"mixed", 20, rows}, {"wide", 30, 2}} {
		a, b := &arrow.Decimal128Type{Precision: 38, Scale: 2}, &arrow.Decimal128Type{Precision: 15, Scale: 2}
		column := func(typ *arrow.Decimal128Type, longest, wide int, nulls bool) *memory.Column {
			return makeColumn(t, typ, rows, func(int) kernels.Scalar {
				v := decimal128.FromI64(int64(r.Uint64()) >> (63 - longest))
				if wide > 0 && r.IntN(wide) == 0 {
					v = decimal128.New(r.Int64N(1<<20)-1<<19, r.Uint64())
				}
				if nulls && r.IntN(8) == 0 {
					return kernels.Null(typ)
				}
				return kernels.Decimal(typ, v)
			})
		}
		for _, nulls := range []bool{false, true} {
			columns := []*memory.Column{column(a, shape.bits, shape.wide, nulls), column(b, min(shape.bits, 40), 0, nulls),
				evalDecimalRows(t, rows, r, arrow.FixedWidthTypes.Boolean), evalDecimalRows(t, rows, r, arrow.PrimitiveTypes.Int64)}
			for name, p := range decimalPrograms(t, a, b) {
				for _, set := range Tiers() {
					k := &kernels.Backend{Device: dev, Set: set}
					want, err := k.EvaluateSteps(ctx, s, p, rows, columns)
					got, failed := k.Evaluate(ctx, s, p, rows, columns)
					what := fmt.Sprintf("%s, nulls %t: %s on %s", shape.name, nulls, name, set.Name)
					if err != nil {
						require.EqualError(t, failed, err.Error(), what)
						continue
					}
					require.NoError(t, failed, what)
					for i, c := range got {
						require.NoError(t, kerneltest.Equal(c, want[i], kerneltest.Tolerance{}), "%s, result %d", what, i)
						c.Release()
						want[i].Release()
					}
				}
			}
		}
	}
}

func evalDecimalRows(t *testing.T, rows int, r *rand.Rand, typ arrow.DataType) *memory.Column {
	return makeColumn(t, typ, rows, func(int) kernels.Scalar {
		if typ.ID() == arrow.BOOL {
			return kernels.Bool(r.IntN(2) == 0)
		}
		return kernels.Int64(r.Int64N(1<<30) - 1<<29)
	})
}

// A program of short decimals is computed as one: the kernels one after another would
// hide a refusal.
func TestEvaluateDecimalsAsOne(t *testing.T) {
	dev := host.New()
	s, err := dev.NewStream()
	require.NoError(t, err)
	defer s.Close()
	a, b := &arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.Decimal128Type{Precision: 12, Scale: 2}
	columns := make([]*memory.Column, 4)
	for i, typ := range []arrow.DataType{a, b, arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int64} {
		columns[i] = makeColumn(t, typ, 100, func(row int) kernels.Scalar {
			if d, ok := typ.(*arrow.Decimal128Type); ok {
				return kernels.Decimal(d, decimal128.FromI64(int64(row-50)*1000))
			} else if typ.ID() == arrow.BOOL {
				return kernels.Bool(row%2 == 0)
			}
			return kernels.Int64(int64(row))
		})
	}
	for name, p := range decimalPrograms(t, a, b) {
		plan, err := bestLoops().plan(s, p, 100, columns)
		require.NoError(t, err, name)
		require.NoError(t, plan.run(context.Background()), name)
		plan.release()
	}
}
