package kernels

import (
	"context"
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
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
		results[g] = aggregateGroup(op, t, rows, o)
	}
	return FromScalars(allocator(s), t, results)
}

// aggregateGroup is the meaning of every grouped aggregation: the result, of
// type t, for the rows of one group in order.
func aggregateGroup(op Aggregation, t arrow.DataType, rows []Scalar, o AggregateOptions) Scalar {
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
		return Int64(int64(len(rows)))
	case Count:
		return Int64(int64(len(values)))
	case CountDistinct:
		return Int64(distinctScalars(values))
	}
	need := max(o.MinCount, 0)
	if o.MinCount == 0 {
		need = 1
	}
	if int64(len(values)) < need {
		return Null(t)
	}
	if op == Any || op == All {
		for _, v := range values {
			if v.Bool() == (op == Any) {
				return Bool(op == Any)
			}
		}
		if o.KeepNulls && len(values) < len(rows) {
			return Null(t)
		}
		return Bool(op == All)
	}
	if o.KeepNulls && len(values) < len(rows) {
		return Null(t)
	}
	if op == Sum || op == Product {
		return foldScalars(op, t, values)
	}
	if len(values) == 0 {
		return Null(t)
	}
	switch op {
	case First:
		return values[0]
	case Last:
		return values[len(values)-1]
	case Min, Max:
		return extremeScalar(op, values)
	}
	mean := meanOf(values)
	if op == Mean {
		return Float64(mean)
	}
	if len(values) <= o.Ddof {
		return Null(t)
	}
	var squares compensated
	for _, v := range values {
		d := floatOf(v) - mean
		squares.add(d * d)
	}
	v := squares.value() / float64(len(values)-o.Ddof)
	if op == Std {
		v = math.Sqrt(v)
	}
	return Float64(v)
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
func foldScalars(op Aggregation, t arrow.DataType, values []Scalar) Scalar {
	var total compensated
	var decimal decimal128.Num
	bits, product := uint64(0), 1.0
	if op == Product {
		bits = 1
	}
	for _, v := range values {
		total.add(v.Float64())
		decimal = decimal.Add(v.Decimal())
		if op == Sum {
			bits += v.bits
		} else {
			bits, product = bits*v.bits, product*v.Float64()
		}
	}
	switch {
	case t.ID() == arrow.DECIMAL128:
		return Decimal(t, decimal)
	case t.ID() != arrow.FLOAT64:
		return Int(t, int64(bits))
	case op == Sum:
		return Float64(total.value())
	default:
		return Float64(product)
	}
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
	total := new(big.Int)
	for _, v := range values {
		switch id := v.typ.ID(); {
		case id == arrow.DECIMAL128:
			total.Add(total, v.Decimal().BigInt())
		case UnsignedTypes.Has(id):
			total.Add(total, new(big.Int).SetUint64(v.bits))
		default:
			total.Add(total, big.NewInt(int64(v.bits)))
		}
	}
	sum, _ := new(big.Float).SetInt(total).Float64()
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
