package kernels

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func referenceAggregate(ctx context.Context, s device.Stream, op Aggregation, values, ids *memory.Column, n int64, o AggregateOptions) (*memory.Column, error) {
	var from arrow.DataType
	if values != nil {
		from = values.Type()
	}
	t, err := AggregateType(op, from)
	if err != nil {
		return nil, err
	}
	of, sizes := make([]int64, ids.Len()), make([]int64, n) // each row's group, -1 for none, and how many rows a group has
	for i := range ids.Len() {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		id := ScalarAt(ids, i)
		if of[i] = -1; !id.valid {
			continue
		}
		if id.bits >= uint64(n) {
			return nil, device.Errorf(device.ErrValue, "", "", "row %d is of group %d of %d", i, id.bits, n)
		}
		of[i] = int64(id.bits)
		sizes[id.bits]++
	}
	groups, room := make([][]Scalar, n), make([]Scalar, ids.Len())
	for g, size := range sizes {
		groups[g], room = room[:0:size], room[size:]
	}
	for i, g := range of {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		if g < 0 {
			continue
		}
		v := Int64(g) // any value will do for rows that are only counted
		if values != nil {
			v = ScalarAt(values, int64(i))
		}
		groups[g] = append(groups[g], v)
	}
	results := make([]Scalar, n)
	for g, rows := range groups {
		if results[g], err = aggregateGroup(op, t, rows, o); err != nil {
			return nil, err
		}
	}
	return FromScalars(allocator(s), t, results)
}

// aggregateGroup is the meaning of every grouped aggregation: the result, of
// type t, for the rows of one group in order.
func aggregateGroup(op Aggregation, t arrow.DataType, rows []Scalar, o AggregateOptions) (Scalar, error) {
	values := rows
	if slices.ContainsFunc(rows, func(v Scalar) bool { return !v.valid }) {
		values = nil
		for _, v := range rows {
			if v.valid {
				values = append(values, v)
			}
		}
	}
	switch op {
	case CountAll:
		return Int64(int64(len(rows))), nil
	case Count:
		return Int64(int64(len(values))), nil
	case CountDistinct:
		return Int64(distinctScalars(values)), nil
	}
	need := max(o.MinCount, 0)
	if o.MinCount == 0 {
		need = 1
	}
	if int64(len(values)) < need {
		return Null(t), nil
	}
	if op == Any || op == All {
		for _, v := range values {
			if v.Bool() == (op == Any) {
				return Bool(op == Any), nil
			}
		}
		if o.KeepNulls && len(values) < len(rows) {
			return Null(t), nil
		}
		return Bool(op == All), nil
	}
	if o.KeepNulls && len(values) < len(rows) {
		return Null(t), nil
	}
	if op == Sum || op == Product || op == SumWrapping {
		return foldScalars(op, t, values)
	}
	if len(values) == 0 {
		return Null(t), nil
	}
	switch op {
	case First:
		return values[0], nil
	case Last:
		return values[len(values)-1], nil
	case Min, Max:
		return extremeScalar(op, values), nil
	case Mean:
		return Float64(meanOf(values)), nil
	}
	if len(values) <= o.Ddof {
		return Null(t), nil
	}
	v := squaresOf(values) / float64(len(values)-o.Ddof)
	if op == Std {
		v = math.Sqrt(v)
	}
	return Float64(v), nil
}

// squaresOf is the sum of the squared differences from the mean.
func squaresOf(values []Scalar) float64 {
	number, mean := floatOf, 0.0
	if FromLeast(values[0].typ) {
		number = numbersFrom(values)
		var total compensated
		for _, v := range values {
			total.add(number(v))
		}
		mean = total.value() / float64(len(values))
	} else {
		mean = meanOf(values)
	}
	var squares compensated
	for _, v := range values {
		d := number(v) - mean
		squares.add(d * d)
	}
	return squares.value()
}

func distinctScalars(values []Scalar) int64 {
	type key struct {
		bits uint64
		high int64
		text string
	}
	seen := map[key]bool{}
	for _, v := range values {
		k := key{v.bits, v.high, v.text}
		if FloatTypes.Has(v.typ.ID()) {
			f := v.Float64()
			if k.bits = math.Float64bits(f + 0); f != f {
				k.bits = math.Float64bits(math.NaN())
			}
		}
		seen[k] = true
	}
	return int64(len(seen))
}

// foldScalars is the sum or product, of type t.
func foldScalars(op Aggregation, t arrow.DataType, values []Scalar) (Scalar, error) {
	if t.ID() != arrow.FLOAT64 {
		return Total(op, t, foldIntegers(op, values))
	}
	var total compensated
	product := 1.0
	for _, v := range values {
		total.add(v.Float64())
		product *= v.Float64()
	}
	if op == Sum {
		return Float64(total.value()), nil
	}
	return Float64(product), nil
}

// extremeScalar is the first of the least or greatest values; a NaN gives way
// to any other.
func extremeScalar(op Aggregation, values []Scalar) Scalar {
	best := values[0]
	for _, v := range values[1:] {
		c := CompareKeys(v, best)
		switch {
		case FloatTypes.Has(v.typ.ID()) && v.Float64() != v.Float64():
		case FloatTypes.Has(v.typ.ID()) && best.Float64() != best.Float64():
			best = v
		case op == Min && c < 0, op == Max && c > 0:
			best = v
		}
	}
	return best
}

// floatOf is the number that v stands for: a decimal is scaled.
func floatOf(v Scalar) float64 {
	if d, ok := v.typ.(*arrow.Decimal128Type); ok {
		return v.Decimal().ToFloat64(d.Scale)
	}
	return v.Float64()
}

// meanOf sums integers and decimals exactly, floats with compensation.
func meanOf(values []Scalar) float64 {
	count := float64(len(values))
	if FloatTypes.Has(values[0].typ.ID()) {
		var total compensated
		for _, v := range values {
			total.add(v.Float64())
		}
		return total.value() / count
	}
	sum := exactSum(values)
	if d, ok := values[0].typ.(*arrow.Decimal128Type); ok {
		sum /= math.Pow10(int(d.Scale))
	}
	return sum / count
}

// compensated is a sum of floats by Neumaier's method: the error does not grow
// with the number of terms.
type compensated struct{ sum, low float64 }

func (c *compensated) add(v float64) {
	t := c.sum + v
	if math.IsInf(t, 0) || t != t {
		c.low = 0
	} else if math.Abs(c.sum) >= math.Abs(v) {
		c.low += c.sum - t + v
	} else {
		c.low += v - t + c.sum
	}
	c.sum = t
}

func (c *compensated) value() float64 { return c.sum + c.low }
