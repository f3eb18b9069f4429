package reference

import (
	"context"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// addReduce puts the reference loops of reduce kernels into s.
func addReduce(s *kernels.Set) {
	s.Reduce = kernels.Entry[kernels.ReduceFunc]{Func: reduce, Types: kernels.KeyTypes}
	s.Scan = kernels.Entry[kernels.ScanFunc]{Func: scan, Types: kernels.ScanTypes}
}

func reduce(ctx context.Context, s device.Stream, op kernels.Aggregation, c *memory.Column, o kernels.AggregateOptions) (*memory.Column, error) {
	t, err := kernels.AggregateType(op, c.Type())
	if err != nil {
		return nil, err
	}
	if op == kernels.ArgMin || op == kernels.ArgMax {
		t = kernels.IndexType(c.Len())
	}
	values := kernels.Scalars(c)
	if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
		return nil, err
	}
	v, err := reduceScalars(op, t, values, o)
	if err != nil {
		return nil, err
	}
	return kernels.FromScalars(hostMemory(s), t, []kernels.Scalar{v.As(t)})
}

func reduceScalars(op kernels.Aggregation, t arrow.DataType, values []kernels.Scalar, o kernels.AggregateOptions) (kernels.Scalar, error) {
	rows, valid := int64(len(values)), int64(0)
	var anyTrue, anyFalse bool
	for _, v := range values {
		if v.Valid() {
			valid++
			anyTrue, anyFalse = anyTrue || v.Bool(), anyFalse || !v.Bool()
		}
	}
	switch op {
	case kernels.CountAll:
		return kernels.Int64(rows), nil
	case kernels.Count:
		return kernels.Int64(valid), nil
	case kernels.CountDistinct:
		return kernels.Int64(countDistinct(values)), nil
	case kernels.Any, kernels.All:
		if v, known := o.Judge(op, anyTrue, anyFalse, rows, valid); known {
			return kernels.Bool(v), nil
		}
		return kernels.Null(t), nil
	}
	if o.Nulled(op, rows, valid) {
		return kernels.Null(t), nil
	}
	switch {
	case (op == kernels.Sum || op == kernels.Product) && t.ID() == arrow.FLOAT64:
		return kernels.Float64(foldInShape(op, values, kernels.Scalar.Float64)), nil
	case op == kernels.Sum || op == kernels.Product || op == kernels.SumWrapping:
		return kernels.Total(op, t, foldIntegers(op, values))
	case valid == 0:
		return kernels.Null(t), nil
	case op == kernels.Mean || op == kernels.Var || op == kernels.Std:
		return momentOf(op, t, values, valid, o), nil
	}
	row := pickRow(op, values)
	if op == kernels.ArgMin || op == kernels.ArgMax {
		return kernels.Int(t, int64(row)), nil
	}
	return values[row], nil
}

func countDistinct(values []kernels.Scalar) int64 {
	type key struct {
		bits uint64
		high int64
		text string
	}
	seen := map[key]bool{}
	for _, v := range values {
		if !v.Valid() {
			continue
		}
		k := key{v.Uint64(), v.Decimal().HighBits(), v.Text()}
		if kernels.FloatTypes.Has(v.Type().ID()) {
			if f := v.Float64(); f != f {
				k.bits = math.Float64bits(math.NaN())
			} else {
				k.bits = math.Float64bits(f + 0) // -0 is 0
			}
		}
		seen[k] = true
	}
	return int64(len(seen))
}

// foldIntegers is the exact sum or product of integers, bools or unscaled
// decimals.
func foldIntegers(op kernels.Aggregation, values []kernels.Scalar) *big.Int {
	exact := big.NewInt(0)
	if op == kernels.Product {
		exact.SetInt64(1)
	}
	for _, v := range values {
		switch {
		case !v.Valid():
		case op == kernels.Product:
			exact.Mul(exact, v.Big())
		default:
			exact.Add(exact, v.Big())
		}
	}
	return exact
}

// foldInShape sums or multiplies in the shape that ReduceFunc states.
func foldInShape(op kernels.Aggregation, values []kernels.Scalar, number func(kernels.Scalar) float64) float64 {
	start, join := 0.0, func(a, b float64) float64 { return a + b }
	if op == kernels.Product {
		start, join = 1, func(a, b float64) float64 { return a * b }
	}
	var blocks []float64
	for from := 0; from < len(values); from += kernels.ReduceBlock {
		var l [kernels.ReduceLanes]float64
		for i := range l {
			l[i] = start
		}
		for r := from; r < min(from+kernels.ReduceBlock, len(values)); r++ {
			if values[r].Valid() {
				l[r%kernels.ReduceLanes] = join(l[r%kernels.ReduceLanes], number(values[r]))
			}
		}
		even := join(join(l[0], l[4]), join(l[2], l[6]))
		odd := join(join(l[1], l[5]), join(l[3], l[7]))
		blocks = append(blocks, join(even, odd))
	}
	if len(blocks) == 0 {
		return start
	}
	for len(blocks) > 1 {
		var above []float64
		for i := 0; i < len(blocks); i += 2 {
			if i+1 < len(blocks) {
				above = append(above, join(blocks[i], blocks[i+1]))
			} else {
				above = append(above, blocks[i])
			}
		}
		blocks = above
	}
	return blocks[0]
}

// momentOf is Mean, Var or Std.
func momentOf(op kernels.Aggregation, t arrow.DataType, values []kernels.Scalar, valid int64, o kernels.AggregateOptions) kernels.Scalar {
	if op == kernels.Mean {
		return kernels.Float64(meanInShape(values, valid))
	}
	if valid <= int64(o.Ddof) {
		return kernels.Null(t)
	}
	number := numbersFrom(values)
	mean := foldInShape(kernels.Sum, values, number) / float64(valid)
	if !kernels.FromLeast(values[0].Type()) {
		mean = meanInShape(values, valid)
	}
	d := foldInShape(kernels.Sum, values, func(v kernels.Scalar) float64 { return number(v) - mean })
	squares := foldInShape(kernels.Sum, values, func(v kernels.Scalar) float64 {
		d := number(v) - mean
		return float64(d * d)
	})
	v := kernels.Variance(d, squares, valid, o.Ddof)
	if op == kernels.Std {
		v = math.Sqrt(v)
	}
	return kernels.Float64(v)
}

// numbersFrom is what Var takes each value as: as it is where float64 holds it,
// else its distance from the least one, taken exactly and then rounded.
func numbersFrom(values []kernels.Scalar) func(kernels.Scalar) float64 {
	if !kernels.FromLeast(values[0].Type()) {
		return kernels.Scalar.Float64
	}
	var least *big.Int
	for _, v := range values {
		if n := v.Big(); v.Valid() && (least == nil || n.Cmp(least) < 0) {
			least = n
		}
	}
	unit := 1.0
	if d, ok := values[0].Type().(*arrow.Decimal128Type); ok {
		unit = math.Pow10(int(d.Scale))
	}
	return func(v kernels.Scalar) float64 {
		f, _ := new(big.Float).SetInt(new(big.Int).Sub(v.Big(), least)).Float64()
		return f / unit
	}
}

// meanInShape is the mean: of floats by the sum in its shape, else the exact one.
func meanInShape(values []kernels.Scalar, valid int64) float64 {
	switch typ := values[0].Type().(type) {
	case *arrow.Float32Type, *arrow.Float64Type:
		return foldInShape(kernels.Sum, values, kernels.Scalar.Float64) / float64(valid)
	case *arrow.Decimal128Type:
		return exactSum(values) / math.Pow10(int(typ.Scale)) / float64(valid)
	default:
		return exactSum(values) / float64(valid)
	}
}

// exactSum is the sum of integers, bools or unscaled decimals, rounded once.
func exactSum(values []kernels.Scalar) float64 {
	f, _ := new(big.Float).SetInt(foldIntegers(kernels.Sum, values)).Float64()
	return f
}

// pickRow is the row of the first, last, least or greatest value; there is one.
func pickRow(op kernels.Aggregation, values []kernels.Scalar) int {
	best := -1
	for i, v := range values {
		if v.Valid() && (best < 0 || takes(op, v, values[best])) {
			best = i
		}
	}
	return best
}

// takes reports whether v, a later value, takes the place of best.
func takes(op kernels.Aggregation, v, best kernels.Scalar) bool {
	switch {
	case op == kernels.First || op == kernels.Last:
		return op == kernels.Last
	case !isValue(v) || !isValue(best): // a NaN gives way to anything else
		return isValue(v)
	case op == kernels.Min || op == kernels.ArgMin:
		return kernels.CompareKeys(v, best) < 0
	default:
		return kernels.CompareKeys(v, best) > 0
	}
}
