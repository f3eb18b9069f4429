package reference

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func aggregate(ctx context.Context, s device.Stream, op kernels.Aggregation, values, ids *memory.Column, n int64, o kernels.AggregateOptions) (*memory.Column, error) {
	var from arrow.DataType
	if values != nil {
		from = values.Type()
	}
	t, err := kernels.AggregateType(op, from)
	if err != nil {
		return nil, err
	}
	of, sizes := make([]int64, ids.Len()), make([]int64, n) // each row's group, -1 for none, and how many rows a group has
	for i := range ids.Len() {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		id := kernels.ScalarAt(ids, i)
		if of[i] = -1; !id.Valid() {
			continue
		}
		if id.Uint64() >= uint64(n) {
			return nil, device.Errorf(device.ErrValue, "", "", "row %d is of group %d of %d", i, id.Uint64(), n)
		}
		of[i] = int64(id.Uint64())
		sizes[id.Uint64()]++
	}
	groups, room := make([][]kernels.Scalar, n), make([]kernels.Scalar, ids.Len())
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
		v := kernels.Int64(g) // any value will do for rows that are only counted
		if values != nil {
			v = kernels.ScalarAt(values, int64(i))
		}
		groups[g] = append(groups[g], v)
	}
	results := make([]kernels.Scalar, n)
	for g, rows := range groups {
		if results[g], err = aggregateGroup(op, t, rows, o); err != nil {
			return nil, err
		}
	}
	return kernels.FromScalars(hostMemory(s), t, results)
}

// aggregateGroup is the meaning of every grouped aggregation: the result, of
// type t, for the rows of one group in order.
func aggregateGroup(op kernels.Aggregation, t arrow.DataType, rows []kernels.Scalar, o kernels.AggregateOptions) (kernels.Scalar, error) {
	values := rows
	if slices.ContainsFunc(rows, func(v kernels.Scalar) bool { return !v.Valid() }) {
		values = nil
		for _, v := range rows {
			if v.Valid() {
				values = append(values, v)
			}
		}
	}
	switch op {
	case kernels.CountAll:
		return kernels.Int64(int64(len(rows))), nil
	case kernels.Count:
		return kernels.Int64(int64(len(values))), nil
	case kernels.CountDistinct:
		return kernels.Int64(countDistinct(values)), nil
	}
	need := max(o.MinCount, 0)
	if o.MinCount == 0 {
		need = 1
	}
	if int64(len(values)) < need {
		return kernels.Null(t), nil
	}
	if op == kernels.Any || op == kernels.All {
		for _, v := range values {
			if v.Bool() == (op == kernels.Any) {
				return kernels.Bool(op == kernels.Any), nil
			}
		}
		if o.KeepNulls && len(values) < len(rows) {
			return kernels.Null(t), nil
		}
		return kernels.Bool(op == kernels.All), nil
	}
	if o.KeepNulls && len(values) < len(rows) {
		return kernels.Null(t), nil
	}
	if op == kernels.Sum || op == kernels.Product || op == kernels.SumWrapping {
		return foldScalars(op, t, values)
	}
	if len(values) == 0 {
		return kernels.Null(t), nil
	}
	switch op {
	case kernels.First:
		return values[0], nil
	case kernels.Last:
		return values[len(values)-1], nil
	case kernels.Min, kernels.Max:
		return extremeScalar(op, values), nil
	case kernels.Mean:
		return kernels.Float64(meanOf(values)), nil
	}
	if len(values) <= o.Ddof {
		return kernels.Null(t), nil
	}
	v := squaresOf(values) / float64(len(values)-o.Ddof)
	if op == kernels.Std {
		v = math.Sqrt(v)
	}
	return kernels.Float64(v), nil
}

// squaresOf is the sum of the squared differences from the mean.
func squaresOf(values []kernels.Scalar) float64 {
	number, mean := floatOf, 0.0
	if kernels.FromLeast(values[0].Type()) {
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

// foldScalars is the sum or product, of type t.
func foldScalars(op kernels.Aggregation, t arrow.DataType, values []kernels.Scalar) (kernels.Scalar, error) {
	if t.ID() != arrow.FLOAT64 {
		return kernels.Total(op, t, foldIntegers(op, values))
	}
	var total compensated
	product := 1.0
	for _, v := range values {
		total.add(v.Float64())
		product *= v.Float64()
	}
	if op == kernels.Sum {
		return kernels.Float64(total.value()), nil
	}
	return kernels.Float64(product), nil
}

// extremeScalar is the first of the least or greatest values; a NaN gives way
// to any other.
func extremeScalar(op kernels.Aggregation, values []kernels.Scalar) kernels.Scalar {
	best := values[0]
	for _, v := range values[1:] {
		c := kernels.CompareKeys(v, best)
		switch {
		case kernels.FloatTypes.Has(v.Type().ID()) && v.Float64() != v.Float64():
		case kernels.FloatTypes.Has(v.Type().ID()) && best.Float64() != best.Float64():
			best = v
		case op == kernels.Min && c < 0, op == kernels.Max && c > 0:
			best = v
		}
	}
	return best
}

// floatOf is the number that v stands for: a decimal is scaled.
func floatOf(v kernels.Scalar) float64 {
	if d, ok := v.Type().(*arrow.Decimal128Type); ok {
		return v.Decimal().ToFloat64(d.Scale)
	}
	return v.Float64()
}

// meanOf sums integers and decimals exactly, floats with compensation.
func meanOf(values []kernels.Scalar) float64 {
	count := float64(len(values))
	if kernels.FloatTypes.Has(values[0].Type().ID()) {
		var total compensated
		for _, v := range values {
			total.add(v.Float64())
		}
		return total.value() / count
	}
	sum := exactSum(values)
	if d, ok := values[0].Type().(*arrow.Decimal128Type); ok {
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
