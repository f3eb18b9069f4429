package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

const evalTestRows = 2*morsel + evalRows + 77

// evalColumn has small values of a type, some of them null where nulls is set.
func evalColumn(t *testing.T, r *rand.Rand, typ arrow.DataType, nulls bool) *memory.Column {
	return makeColumn(t, typ, evalTestRows, func(int) kernels.Scalar {
		switch {
		case nulls && r.IntN(8) == 0:
			return kernels.Null(typ)
		case typ.ID() == arrow.BOOL:
			return kernels.Bool(r.IntN(2) == 0)
		case kernels.FloatTypes.Has(typ.ID()):
			return kernels.Float(typ, float64(1+r.IntN(9))/4)
		default:
			return kernels.Int(typ, int64(1+r.IntN(9)))
		}
	})
}

// evalPrograms are programs of one step of every kind and operation that there is
// for a type, and a result that is computed from it. Steps 0 and 1 are columns of
// the type, 2 is one of bools, 3 a scalar.
func evalPrograms(typ arrow.DataType) map[string]*kernels.Program {
	boolean := arrow.FixedWidthTypes.Boolean
	value := kernels.Scalar{}
	switch {
	case typ.ID() == arrow.BOOL:
		value = kernels.Bool(true)
	case kernels.FloatTypes.Has(typ.ID()):
		value = kernels.Float(typ, 2)
	default:
		value = kernels.Int(typ, 2)
	}
	all := map[string]*kernels.Program{}
	add := func(st kernels.Step, err error) {
		if err != nil {
			return
		}
		var types []arrow.DataType
		for _, a := range st.Args {
			types = append(types, []arrow.DataType{typ, typ, boolean, typ}[a])
		}
		if !st.Takes(types...) {
			return
		}
		p := &kernels.Program{Steps: []kernels.Step{
			{Kind: kernels.StepColumn, Type: typ}, {Kind: kernels.StepColumn, Column: 1, Type: typ}, {Kind: kernels.StepColumn, Column: 2, Type: boolean},
			{Kind: kernels.StepScalar, Value: value, Type: typ}, st,
			{Kind: kernels.StepIfElse, Args: []int{2, 4, 4}, Type: st.Type},
		}, Results: []int{4, 5}}
		all[fmt.Sprintf("%s: kind %d, operation %d of %v, checked %t", typ, st.Kind, st.Op, st.Args, st.Checked)] = p
	}
	for _, args := range [][]int{{0, 1}, {0, 3}, {3, 1}} {
		for op := range int(kernels.Modulo) + 1 {
			for _, checked := range []bool{false, true} {
				t, err := kernels.ArithmeticType(kernels.ArithmeticOp(op), typ, typ)
				add(kernels.Step{Kind: kernels.StepArithmetic, Op: op, Args: args, Type: t, Checked: checked}, err)
			}
		}
		for op := range int(kernels.GreaterEqual) + 1 {
			t, err := kernels.CompareType(kernels.CompareOp(op), typ, typ)
			add(kernels.Step{Kind: kernels.StepCompare, Op: op, Args: args, Type: t}, err)
		}
		for op := range int(kernels.AndNot) + 1 {
			t, err := kernels.LogicType(kernels.LogicOp(op), typ, typ)
			add(kernels.Step{Kind: kernels.StepLogic, Op: op, Args: args, Type: t}, err)
		}
		add(kernels.Step{Kind: kernels.StepFillNull, Args: args, Type: typ}, nil)
		add(kernels.Step{Kind: kernels.StepIfElse, Args: append([]int{2}, args...), Type: typ}, nil)
	}
	for op := range int(kernels.Round) + 1 {
		t, err := kernels.UnaryType(kernels.UnaryOp(op), typ)
		add(kernels.Step{Kind: kernels.StepUnary, Op: op, Args: []int{0}, Type: t}, err)
	}
	for op := range int(kernels.IsNaNTest) + 1 {
		add(kernels.Step{Kind: kernels.StepIsNull, Op: op, Args: []int{0}, Type: boolean}, nil)
	}
	if typ.ID() == arrow.BOOL {
		add(kernels.Step{Kind: kernels.StepNot, Args: []int{0}, Type: boolean}, nil)
		return all
	}
	for _, to := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		for _, wrap := range []bool{false, true} {
			add(kernels.Step{Kind: kernels.StepCast, Args: []int{0}, Type: to, Wrap: wrap}, nil)
		}
	}
	return all
}

// Every operation of a program gives the same bits on one thread, on two and on
// seven, with nulls and without, and those of the kernels one after another.
func TestEvaluateOnThreads(t *testing.T) {
	const seed = 71
	r := rand.New(rand.NewPCG(seed, 1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	b, err := New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, programs, refused := context.Background(), 0, 0
	types, enough := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint16,
		arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean}, 600
	if raceDetector { // what goroutines share is the same for numbers of each type
		types, enough = []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean}, 150
	}
	for _, typ := range types {
		for _, nulls := range []bool{false, true} {
			columns := []*memory.Column{evalColumn(t, r, typ, nulls), evalColumn(t, r, typ, false), evalColumn(t, r, arrow.FixedWidthTypes.Boolean, nulls)}
			for name, p := range evalPrograms(typ) {
				programs++
				if raceDetector { // workers meet without answers to compare with
					runtime.GOMAXPROCS(7)
					got, err := b.Evaluate(ctx, s, p, evalTestRows, columns)
					if err != nil {
						refused++
					}
					for _, c := range got {
						c.Release()
					}
					continue
				}
				want, err := b.EvaluateSteps(ctx, s, p, evalTestRows, columns)
				if err != nil {
					refused++ // a checked result that does not fit: so has the program to
				}
				for _, threads := range kerneltest.Threads {
					runtime.GOMAXPROCS(threads)
					got, failed := b.Evaluate(ctx, s, p, evalTestRows, columns)
					if (failed == nil) != (err == nil) || err != nil && failed.Error() != err.Error() {
						t.Fatalf("seed %d: %s, %d threads: error %v, not %v", seed, name, threads, failed, err)
					}
					for i, c := range got {
						if err := kerneltest.Equal(c, want[i], kerneltest.Tolerance{}); err != nil {
							t.Errorf("seed %d: %s, result %d, %d threads: %v", seed, name, i, threads, err)
						}
						c.Release()
					}
				}
				for _, c := range want {
					c.Release()
				}
			}
		}
	}
	if programs < enough || refused > programs/10 {
		t.Errorf("%d programs, of which %d had no result", programs, refused)
	}
}
