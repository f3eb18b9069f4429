package cpu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// sameElsewhere are the tests that have the kernels of kernels.Set which TestSameOperations leaves out.
var sameElsewhere = map[string]string{
	"Match":       "TestMatch",
	"Substring":   "TestSubstring",
	"FilterWhere": "TestFilterWhere",
	"Members":     "TestMembers",
	"GatherRows":  "none: CPUs have no such kernel",
	"GEMM":        "TestGEMMByTiersAndThreads",
	"Group":       "TestSameGroups",
	"Unique":      "TestSameGroups",
	"JoinColumns": "TestSameJoins",
	"SortColumns": "TestSameSorts",
}

// operandRows are three morsels, the last of them short.
const operandRows = 2*morsel + 777

// sameOperands are two columns of a type and a scalar, positive and small. The first column has nulls.
type sameOperands struct {
	a, b *memory.Column
	one  kernels.Datum
}

func (o *sameOperands) name() string { return o.a.Type().String() }

// sameTry is one call of a kernel.
type sameTry func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error)

// oneColumn is what a kernel of one column gives.
func oneColumn(c *memory.Column, err error) ([]*memory.Column, error) {
	return []*memory.Column{c}, err
}

// makeOperands casts small and great integers to every type.
func makeOperands(t *testing.T) []sameOperands {
	t.Helper()
	d := host.New()
	t.Cleanup(func() { _ = d.Close() })
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &kernels.Backend{Device: d, Set: Generic()}
	integers := func(at func(i int) int64, nulls bool) *memory.Column {
		values, valid, none := make([]int64, operandRows), make(memory.Bitmap, memory.BitmapBytes(operandRows)), int64(0)
		for i := range values {
			values[i] = at(i)
			if nulls && i%13 == 5 {
				none++
				continue
			}
			valid.Set(int64(i))
		}
		plain := fixedColumn(t, arrow.PrimitiveTypes.Int64, values)
		defer plain.Release()
		c, err := memory.NewColumn(memory.Parts{Type: plain.Type(), Len: operandRows, Nulls: none, Buffers: []*memory.Buffer{memory.Wrap(valid, nil), plain.Buffer(1).Retain()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Release)
		return c
	}
	cast := func(c *memory.Column, to ...arrow.DataType) *memory.Column {
		for _, typ := range to {
			next, err := b.Cast(context.Background(), s, c, typ, kernels.CastOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(next.Release)
			c = next
		}
		return c
	}
	small, less := integers(func(i int) int64 { return int64(mix(uint64(i)) % 121) }, true), integers(func(i int) int64 { return int64(1 + i%9) }, false)
	great, near := integers(func(i int) int64 { return int64(mix(uint64(i)) >> 12) }, true), integers(func(i int) int64 { return int64(i) * 7_000_003 }, false)
	f64 := arrow.DataType(arrow.PrimitiveTypes.Float64)
	fraction := func(c *memory.Column) *memory.Column { // no whole numbers, so that sums depend on their shape
		r, err := b.Arithmetic(context.Background(), s, kernels.Divide, cast(c, f64), kernels.Float64(7), kernels.ArithmeticOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Release)
		return r
	}
	half, quarter := fraction(small), fraction(less)
	p, fixed := arrow.PrimitiveTypes, arrow.FixedWidthTypes
	decimal := &arrow.Decimal128Type{Precision: 20, Scale: 4}
	three := func(typ arrow.DataType) kernels.Datum { return kernels.Int(typ, 3) }
	return []sameOperands{
		{small, less, three(p.Int64)},
		{half, quarter, kernels.Float64(1.7)},
		{cast(small, p.Int8), cast(less, p.Int8), three(p.Int8)},
		{cast(small, arrow.BinaryTypes.String), cast(less, arrow.BinaryTypes.String), kernels.String("3")},
		{cast(half, p.Float32), cast(quarter, p.Float32), kernels.Float(p.Float32, 1.7)},
		{cast(small, fixed.Boolean), cast(less, fixed.Boolean), kernels.Bool(true)},
		{cast(small, decimal), cast(less, decimal), nil},
		{cast(small, p.Uint16), cast(less, p.Uint16), three(p.Uint16)},
		{cast(great, fixed.Timestamp_us), cast(near, fixed.Timestamp_us), three(fixed.Timestamp_us)},
		{cast(small, p.Int32), cast(less, p.Int32), three(p.Int32)},
		{cast(small, p.Int32, fixed.Date32), cast(less, p.Int32, fixed.Date32), three(fixed.Date32)},
		{cast(small, p.Uint64), cast(less, p.Uint64), three(p.Uint64)},
		{cast(small, arrow.BinaryTypes.LargeString), cast(less, arrow.BinaryTypes.LargeString), kernels.Text(arrow.BinaryTypes.LargeString, "3")},
	}
}

// TestSameOperations: every kernel gives the same bits on every tier with each number of threads, each
// operation of it with some of the types that it takes.
func TestSameOperations(t *testing.T) {
	all := makeOperands(t)
	operations := elementwiseSame(t, all)
	maps.Copy(operations, movingSame(all))
	maps.Copy(operations, foldingSame(t, all))
	set := reflect.TypeFor[kernels.Set]()
	for i := range set.NumField() {
		name := set.Field(i).Name
		if _, has := operations[name]; !has && sameElsewhere[name] == "" && name != "Name" {
			t.Errorf("no test compares %s between tiers and numbers of threads", name)
		}
	}
	if Generic().GatherRows.Func != nil {
		t.Error("GatherRows is a kernel of CPUs now: compare it")
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		done := 0
		tries := operations[name]
		for _, at := range slices.Sorted(maps.Keys(tries)) {
			switch err := eachSameOr(t, name+" "+at, tries[at]); {
			case err == nil:
				done++
			case !errors.Is(err, device.ErrUnsupported) && !errors.Is(err, device.ErrValue) && !errors.Is(err, device.ErrMismatch):
				t.Errorf("%s %s: %v", name, at, err)
			}
		}
		t.Logf("%s: %d results, %d refused", name, done, len(tries)-done)
		if done == 0 {
			t.Errorf("%s gives no result", name)
		}
	}
}

// elementwiseSame are kernels of rows, by fields of kernels.Set and by what they are called with.
func elementwiseSame(t *testing.T, all []sameOperands) map[string]map[string]sameTry {
	ctx := context.Background()
	out := map[string]map[string]sameTry{}
	add := func(kernel, at string, f sameTry) {
		if out[kernel] == nil {
			out[kernel] = map[string]sameTry{}
		}
		out[kernel][at] = f
	}
	conditions := all[5]
	apply := sameFunction(t)
	for i, x := range all {
		ys := []kernels.Datum{x.b, x.one}
		y := func(op int) kernels.Datum { // a column or a scalar
			if y := ys[op/2%2]; y != nil {
				return y
			}
			return x.b
		}
		for k, to := range all {
			typ, wrap := to.a.Type(), k/2%2 == 1
			decimal, rows := arrow.IsDecimal(typ.ID()) || arrow.IsDecimal(x.a.Type().ID()), int64(operandRows)
			if d := (k - i + len(all)) % len(all); d != 3 && (decimal || d != 5 && d != 9) { // from each type and to each
				continue
			}
			if decimal { // which are slow
				rows = morsel + 333
			}
			add("Cast", fmt.Sprintf("%s to %s, wrapped %t", x.name(), typ, wrap), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				c, err := x.a.Slice(0, rows)
				if err != nil {
					return nil, err
				}
				defer c.Release()
				return oneColumn(b.Cast(ctx, s, c, typ, kernels.CastOptions{Wrap: wrap}))
			})
		}
		for op := range int(kernels.Modulo) + 1 {
			if (i+op)%2 == 0 {
				add("Arithmetic", fmt.Sprint(kernels.ArithmeticOp(op), " ", x.name()), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
					return oneColumn(b.Arithmetic(ctx, s, kernels.ArithmeticOp(op), x.a, y(op), kernels.ArithmeticOptions{Checked: op%3 == 0}))
				})
			}
		}
		for op := range int(kernels.Round) + 1 {
			if (i+op)%2 == 0 {
				add("Unary", fmt.Sprint(kernels.UnaryOp(op), " ", x.name()), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
					return oneColumn(b.Unary(ctx, s, kernels.UnaryOp(op), x.a, kernels.ArithmeticOptions{}))
				})
			}
		}
		for op := range int(kernels.DayOfYear) + 1 {
			add("Temporal", fmt.Sprint(kernels.TemporalField(op), " ", x.name()), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				return oneColumn(b.Temporal(ctx, s, kernels.TemporalField(op), x.a))
			})
		}
		for op := range int(kernels.GreaterEqual) + 1 {
			if (i+op)%2 == 0 {
				add("Compare", fmt.Sprint(kernels.CompareOp(op), " ", x.name()), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
					return oneColumn(b.Compare(ctx, s, kernels.CompareOp(op), x.a, y(op)))
				})
			}
		}
		for op := range int(kernels.IsNaNTest) + 1 {
			add("IsNull", fmt.Sprint(op, " ", x.name()), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				return oneColumn(b.IsNull(ctx, s, kernels.NullTest(op), x.a))
			})
		}
		add("FillNull", x.name(), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.FillNull(ctx, s, x.a, y(2*i)))
		})
		add("IfElse", x.name(), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.IfElse(ctx, s, conditions.a, x.a, y(2*i)))
		})
		add("Hash", x.name(), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.Hash(ctx, s, []*memory.Column{x.a, all[(i+3)%len(all)].b}, 9))
		})
	}
	for op := range int(kernels.AndNot) + 1 {
		add("Logic", fmt.Sprint(kernels.LogicOp(op)), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.Logic(ctx, s, kernels.LogicOp(op), conditions.a, conditions.b))
		})
	}
	add("Not", "", func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
		return oneColumn(b.Not(ctx, s, conditions.a))
	})
	add("Apply", "", func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
		return oneColumn(b.Apply(ctx, s, apply, []kernels.Datum{all[1].a, all[1].b}))
	})
	for _, x := range []sameOperands{all[1], all[9]} {
		programs := evalPrograms(x.a.Type())
		for i, at := range slices.Sorted(maps.Keys(programs)) {
			if i%4 == 0 {
				add("Evaluate", at, func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
					return b.Evaluate(ctx, s, programs[at], operandRows, []*memory.Column{x.a, x.b, conditions.a})
				})
			}
		}
	}
	return out
}

// sameFunction is a function of a user's.
func sameFunction(t *testing.T) *kernels.Function {
	t.Helper()
	const name = "same_operations"
	if f, known := kernels.Registered(name); known { // tests may run several times
		return f
	}
	f64 := arrow.DataType(arrow.PrimitiveTypes.Float64)
	f, err := kernels.Register(name, []arrow.DataType{f64, f64, f64}, func(out, x, y []float64) {
		for i := range out {
			out[i] = x[i]*y[i] + 1/(1+x[i])
		}
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// movingSame are kernels that move rows, or find which go where.
func movingSame(all []sameOperands) map[string]map[string]sameTry {
	ctx := context.Background()
	out := map[string]map[string]sameTry{"Filter": {}, "Take": {}, "Concat": {}, "Partition": {}, "SortIndices": {}, "TopK": {}, "IsIn": {}, "JoinBuild": {}, "Cross": {}}
	mask, rows := all[5].a, all[9].a // bools, and row numbers with nulls
	out["Cross"][""] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
		p, err := b.Cross(ctx, s, 5, 700, 300)
		if err != nil {
			return nil, err
		}
		return []*memory.Column{p.Left, p.Right}, nil
	}
	for i, x := range all {
		at, keys := x.name(), []*memory.Column{x.a, all[(i+5)%len(all)].a}
		out["Filter"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.Filter(ctx, s, x.a, mask, kernels.FilterOptions{}))
		}
		out["Take"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.Take(ctx, s, x.a, rows, kernels.TakeOptions{}))
		}
		out["Concat"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.Concat(ctx, s, []*memory.Column{x.a, x.b, x.a}))
		}
		out["IsIn"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.IsIn(ctx, s, x.a, x.b))
		}
		scheme := []kernels.PartitionScheme{kernels.ByHash, kernels.ByRoundRobin}[i%2]
		out["Partition"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			p, err := b.Partition(ctx, s, keys, kernels.PartitionOptions{Scheme: scheme, Parts: 37})
			if err != nil {
				return nil, err
			}
			return []*memory.Column{p.Rows}, nil
		}
		out["Partition"][at+", ranges"] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			one, err := b.SortIndices(ctx, s, []kernels.SortKey{{Values: x.b}})
			if err != nil {
				return nil, err
			}
			defer one.Release()
			sorted, err := b.Take(ctx, s, x.b, one, kernels.TakeOptions{})
			if err != nil {
				return nil, err
			}
			defer sorted.Release()
			bounds, err := sorted.Slice(operandRows/2, 9)
			if err != nil {
				return nil, err
			}
			defer bounds.Release()
			p, err := b.Partition(ctx, s, []*memory.Column{x.a}, kernels.PartitionOptions{Scheme: kernels.ByRange, Bounds: bounds})
			if err != nil {
				return nil, err
			}
			return []*memory.Column{p.Rows}, nil
		}
		order := []kernels.SortKey{{Values: x.a, Descending: i%2 == 0, NullsFirst: i%3 == 0}}
		if i%4 == 1 {
			order = append(order, kernels.SortKey{Values: keys[1]})
		}
		out["SortIndices"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.SortIndices(ctx, s, order))
		}
		out["TopK"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			return oneColumn(b.TopK(ctx, s, order, 1000))
		}
		kind := kernels.JoinKind(i) % (kernels.AntiJoin + 1)
		out["JoinBuild"][fmt.Sprint(kind, " ", at)] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			few, err := keys[0].Slice(0, 60) // of values that many rows have
			if err != nil {
				return nil, err
			}
			defer few.Release()
			table, err := b.JoinBuild(ctx, s, []*memory.Column{few}, kernels.JoinOptions{})
			if err != nil {
				return nil, err
			}
			defer table.Release()
			left, err := x.a.Slice(11, operandRows-11)
			if err != nil {
				return nil, err
			}
			defer left.Release()
			p, err := table.Probe(ctx, s, []*memory.Column{left}, kind, kernels.JoinOptions{})
			if err != nil {
				return nil, err
			}
			if p.Right == nil {
				return []*memory.Column{p.Left}, nil
			}
			return []*memory.Column{p.Left, p.Right}, nil
		}
	}
	return out
}

// foldingSame are kernels that make one value of many.
func foldingSame(t *testing.T, all []sameOperands) map[string]map[string]sameTry {
	ctx, o := context.Background(), kernels.AggregateOptions{}
	out := map[string]map[string]sameTry{"Reduce": {}, "MinMax": {}, "Scan": {}, "Aggregate": {}, "GroupBy": {}, "GEMV": {}, "Transpose": {}}
	for i, x := range all {
		for op := kernels.Sum; op <= kernels.ArgMax; op++ {
			at := fmt.Sprint(op, " ", x.name())
			if op != kernels.CountAll && (i+int(op))%2 == 0 {
				out["Reduce"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
					return oneColumn(b.Reduce(ctx, s, op, x.a, o))
				}
			}
			if op > kernels.Last || (i+int(op))%4 > 0 && !(op == kernels.Any || op == kernels.All) {
				continue
			}
			values := x.a
			if op == kernels.CountAll {
				values = nil
			}
			out["GroupBy"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				g, err := b.GroupBy(ctx, s, []*memory.Column{all[(i+2)%len(all)].a}, []kernels.Aggregate{{Op: op, Values: values}}, kernels.GroupOptions{})
				if err != nil {
					return nil, err
				}
				return append(g.Values, g.First), nil
			}
			out["Aggregate"][at] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				ids, err := b.Cast(ctx, s, all[0].b, arrow.PrimitiveTypes.Uint32, kernels.CastOptions{})
				if err != nil {
					return nil, err
				}
				defer ids.Release()
				return oneColumn(b.Aggregate(ctx, s, op, values, ids, 11, o))
			}
		}
		out["MinMax"][x.name()] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			least, greatest, err := b.MinMax(ctx, s, x.a, o)
			return []*memory.Column{least, greatest}, err
		}
		for op := kernels.CumulativeSum; op <= kernels.CumulativeMax; op++ {
			out["Scan"][fmt.Sprint(op, " ", x.name())] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				return oneColumn(b.Scan(ctx, s, op, x.a, kernels.ScanOptions{Exclusive: i%2 == 0}))
			}
		}
	}
	r := rand.New(rand.NewPCG(testSeed, 55))
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		m, long, short := randomMatrix(t, r, typ, 900, 700), randomMatrix(t, r, typ, 900, 1), randomMatrix(t, r, typ, 700, 1)
		for _, turned := range []bool{false, true} {
			from, to := short, long
			if turned {
				from, to = long, short
			}
			out["GEMV"][fmt.Sprint(typ, turned)] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				y := copied(t, to)
				err := b.GEMV(ctx, s, turned, 1.5, m, from, 0.5, y)
				return oneColumn(matrixBytes(t, y), err)
			}
		}
		square := randomMatrix(t, r, typ, 700, 900)
		out["Transpose"][typ.Name()] = func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			y := copied(t, square)
			return oneColumn(matrixBytes(t, y), b.Transpose(ctx, s, m, y))
		}
	}
	return out
}

// matrixBytes are the bytes of a matrix's memory as a column.
func matrixBytes(t *testing.T, m kernels.Matrix) *memory.Column {
	t.Helper()
	c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Uint8, Len: m.Data.Len(), Buffers: []*memory.Buffer{nil, m.Data.Retain()}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
