package kernels

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Aggregation reduces many values to one, over a whole column or each group.
type Aggregation int

// The aggregations and the type of their result. Sum and Product of integers
// are int64 or uint64, of floats float64, of decimals decimal128(38, scale) for
// Sum; what does not fit is an OverflowError. Mean, Var and Std are float64.
const (
	Sum Aggregation = iota
	Product
	Min // of the values' type; NaN only where there is nothing else
	Max
	Count         // values that are not null, int64
	CountAll      // rows, int64; takes no values
	CountDistinct // distinct values that are not null, int64
	Mean
	Var    // sum of squared differences from the mean, over count - Ddof
	Std    // square root of Var
	Any    // Kleene or: with KeepNulls null if nothing is true and something is null
	All    // Kleene and: with KeepNulls null if nothing is false and something is null
	First  // the first value that is not null
	Last   // the last value that is not null
	ArgMin // row (IndexType) of the first least value; over a whole column only
	ArgMax // row of the first greatest value
	// SumWrapping is Sum of integers and durations modulo 2^64.
	SumWrapping
)

// AggregateOptions are those of Arrow's scalar aggregates, KeepNulls being the
// opposite of Arrow's skip_nulls. The zero value is the usual one: nulls are
// skipped, one value is enough, ddof 0.
type AggregateOptions struct {
	// KeepNulls makes the result null when any value is null.
	KeepNulls bool
	// MinCount is how many values that are not null it takes for a result that
	// is not null; 0 means 1 (give a negative one for none at all, when Sum of
	// nothing is 0, Product 1, Any false, All true). Counts are never null.
	MinCount int64
	// Ddof: Var and Std divide by count - Ddof; with no more values than that
	// the result is null.
	Ddof int
}

var aggregationNames = [...]string{
	Sum: "sum", Product: "product", Min: "min", Max: "max", Count: "count", CountAll: "count_all",
	CountDistinct: "count_distinct", Mean: "mean", Var: "var", Std: "std", Any: "any", All: "all",
	First: "first", Last: "last", ArgMin: "arg_min", ArgMax: "arg_max", SumWrapping: "sum_wrapping",
}

// String is the name of the aggregation as in Arrow's group_by.
func (op Aggregation) String() string {
	if op < 0 || int(op) >= len(aggregationNames) {
		return fmt.Sprintf("aggregation %d", int(op))
	}
	return aggregationNames[op]
}

// AggregateType is the type of the result of op over values of type t, or an
// ErrUnsupported that says what op takes. t is not read for CountAll and may be
// nil there. A dictionary counts as its values' type: min, max, first and last
// of one are of that type. A bool is 0 or 1 to Sum (uint64) and Mean; durations
// sum to durations of the same unit. Values of type null are a column of int64,
// or of bool for Any and All, with nothing in it. ArgMin and ArgMax give the
// IndexType of the column's length, here uint32.
func AggregateType(op Aggregation, t arrow.DataType) (arrow.DataType, error) {
	if op < 0 || int(op) >= len(aggregationNames) {
		return nil, unsupported("there is no %s", op)
	}
	if op == CountAll {
		return arrow.PrimitiveTypes.Int64, nil
	}
	if t == nil {
		return nil, mismatch("%s without values", op)
	}
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	id := t.ID()
	if !KeyTypes.Has(id) {
		return nil, unsupported("%s of %s", op, t)
	}
	switch op {
	case Count, CountDistinct:
		return arrow.PrimitiveTypes.Int64, nil
	case Min, Max, First, Last:
		return t, nil
	case ArgMin, ArgMax:
		return IndexType(0), nil
	case Any, All:
		if id == arrow.BOOL || id == arrow.NULL {
			return arrow.FixedWidthTypes.Boolean, nil
		}
		return nil, unsupported("%s of %s: it takes bool", op, t)
	case Mean, Var, Std:
		if (NumberTypes | DecimalTypes | NullTypes).Has(id) || op == Mean && id == arrow.BOOL {
			return arrow.PrimitiveTypes.Float64, nil
		}
		return nil, unsupported("%s of %s: it takes numbers", op, t)
	case SumWrapping:
		if !(IntegerTypes | NullTypes).Has(id) && id != arrow.DURATION {
			return nil, unsupported("%s of %s: it takes integers", op, t)
		}
		op = Sum
	}
	switch {
	case SignedTypes.Has(id) || id == arrow.NULL:
		return arrow.PrimitiveTypes.Int64, nil
	case UnsignedTypes.Has(id) || op == Sum && id == arrow.BOOL:
		return arrow.PrimitiveTypes.Uint64, nil
	case FloatTypes.Has(id):
		return arrow.PrimitiveTypes.Float64, nil
	case op == Sum && id == arrow.DECIMAL128:
		return &arrow.Decimal128Type{Precision: 38, Scale: t.(*arrow.Decimal128Type).Scale}, nil
	case op == Sum && id == arrow.DURATION:
		return t, nil
	}
	return nil, unsupported("%s of %s: it takes numbers", op, t)
}
