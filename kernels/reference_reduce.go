package kernels

import (
	"context"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// referenceReduce puts the reference loops of reduce kernels into s.
func referenceReduce(s *Set) {
	s.Reduce = Entry[ReduceFunc]{referenceReduceColumn, KeyTypes}
	s.Scan = Entry[ScanFunc]{referenceScan, ScanTypes}
}

func referenceReduceColumn(ctx context.Context, s device.Stream, op Aggregation, c *memory.Column, o AggregateOptions) (*memory.Column, error) {
	t, err := AggregateType(op, c.Type())
	if err != nil {
		return nil, err
	}
	if op == ArgMin || op == ArgMax {
		t = IndexType(c.Len())
	}
	values := Scalars(c)
	if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
		return nil, err
	}
	v, err := reduceScalars(op, t, values, o)
	if err != nil {
		return nil, err
	}
	return FromScalars(allocator(s), t, []Scalar{v.As(t)})
}

func reduceScalars(op Aggregation, t arrow.DataType, values []Scalar, o AggregateOptions) (Scalar, error) {
	rows, valid := int64(len(values)), int64(0)
	var anyTrue, anyFalse bool
	for _, v := range values {
		if v.valid {
			valid++
			anyTrue, anyFalse = anyTrue || v.bits != 0, anyFalse || v.bits == 0
		}
	}
	switch op {
	case CountAll:
		return Int64(rows), nil
	case Count:
		return Int64(valid), nil
	case CountDistinct:
		return Int64(countDistinct(values)), nil
	case Any, All:
		if v, known := o.Judge(op, anyTrue, anyFalse, rows, valid); known {
			return Bool(v), nil
		}
		return Null(t), nil
	}
	if o.Nulled(op, rows, valid) {
		return Null(t), nil
	}
	switch {
	case (op == Sum || op == Product) && t.ID() == arrow.FLOAT64:
		return Float64(foldInShape(op, values, Scalar.Float64)), nil
	case op == Sum || op == Product || op == SumWrapping:
		return Total(op, t, foldIntegers(op, values))
	case valid == 0:
		return Null(t), nil
	case op == Mean || op == Var || op == Std:
		return momentOf(op, t, values, valid, o), nil
	}
	row := pickRow(op, values)
	if op == ArgMin || op == ArgMax {
		return Scalar{typ: t, valid: true, bits: uint64(row)}, nil
	}
	return values[row], nil
}

func countDistinct(values []Scalar) int64 {
	type key struct {
		bits uint64
		high int64
		text string
	}
	seen := map[key]bool{}
	for _, v := range values {
		if !v.valid {
			continue
		}
		k := key{v.bits, v.high, v.text}
		if FloatTypes.Has(v.typ.ID()) {
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
func foldIntegers(op Aggregation, values []Scalar) *big.Int {
	exact := big.NewInt(0)
	if op == Product {
		exact.SetInt64(1)
	}
	for _, v := range values {
		switch {
		case !v.valid:
		case op == Product:
			exact.Mul(exact, toBig(v))
		default:
			exact.Add(exact, toBig(v))
		}
	}
	return exact
}

// foldInShape sums or multiplies in the shape that ReduceFunc states.
func foldInShape(op Aggregation, values []Scalar, number func(Scalar) float64) float64 {
	start, join := 0.0, func(a, b float64) float64 { return a + b }
	if op == Product {
		start, join = 1, func(a, b float64) float64 { return a * b }
	}
	var blocks []float64
	for from := 0; from < len(values); from += ReduceBlock {
		var l [ReduceLanes]float64
		for i := range l {
			l[i] = start
		}
		for r := from; r < min(from+ReduceBlock, len(values)); r++ {
			if values[r].valid {
				l[r%ReduceLanes] = join(l[r%ReduceLanes], number(values[r]))
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
func momentOf(op Aggregation, t arrow.DataType, values []Scalar, valid int64, o AggregateOptions) Scalar {
	if op == Mean {
		return Float64(meanInShape(values, valid))
	}
	if valid <= int64(o.Ddof) {
		return Null(t)
	}
	number := numbersFrom(values)
	mean := foldInShape(Sum, values, number) / float64(valid)
	if !FromLeast(values[0].typ) {
		mean = meanInShape(values, valid)
	}
	d := foldInShape(Sum, values, func(v Scalar) float64 { return number(v) - mean })
	squares := foldInShape(Sum, values, func(v Scalar) float64 {
		d := number(v) - mean
		return float64(d * d)
	})
	v := Variance(d, squares, valid, o.Ddof)
	if op == Std {
		v = math.Sqrt(v)
	}
	return Float64(v)
}

// numbersFrom is what Var takes each value as: as it is where float64 holds it,
// else its distance from the least one, taken exactly and then rounded.
func numbersFrom(values []Scalar) func(Scalar) float64 {
	if !FromLeast(values[0].typ) {
		return Scalar.Float64
	}
	var least *big.Int
	for _, v := range values {
		if n := toBig(v); v.valid && (least == nil || n.Cmp(least) < 0) {
			least = n
		}
	}
	unit := 1.0
	if d, ok := values[0].typ.(*arrow.Decimal128Type); ok {
		unit = math.Pow10(int(d.Scale))
	}
	return func(v Scalar) float64 {
		f, _ := new(big.Float).SetInt(new(big.Int).Sub(toBig(v), least)).Float64()
		return f / unit
	}
}

// meanInShape is the mean: of floats by the sum in its shape, else the exact one.
func meanInShape(values []Scalar, valid int64) float64 {
	switch typ := values[0].typ.(type) {
	case *arrow.Float32Type, *arrow.Float64Type:
		return foldInShape(Sum, values, Scalar.Float64) / float64(valid)
	case *arrow.Decimal128Type:
		return exactSum(values) / math.Pow10(int(typ.Scale)) / float64(valid)
	default:
		return exactSum(values) / float64(valid)
	}
}

// Variance is Var by the sums of the differences from the mean and of their
// squares.
func Variance(differences, squares float64, n int64, ddof int) float64 {
	v := (squares - float64(float64(differences*differences)/float64(n))) / float64(n-int64(ddof))
	if v < 0 {
		return 0
	}
	return v
}

// exactSum is the sum of integers, bools or unscaled decimals, rounded once.
func exactSum(values []Scalar) float64 {
	f, _ := new(big.Float).SetInt(foldIntegers(Sum, values)).Float64()
	return f
}

// pickRow is the row of the first, last, least or greatest value; there is one.
func pickRow(op Aggregation, values []Scalar) int {
	best := -1
	for i, v := range values {
		if v.valid && (best < 0 || takes(op, v, values[best])) {
			best = i
		}
	}
	return best
}

// takes reports whether v, a later value, takes the place of best.
func takes(op Aggregation, v, best Scalar) bool {
	switch {
	case op == First || op == Last:
		return op == Last
	case !isValue(v) || !isValue(best): // a NaN gives way to anything else
		return isValue(v)
	case op == Min || op == ArgMin:
		return CompareKeys(v, best) < 0
	default:
		return CompareKeys(v, best) > 0
	}
}
