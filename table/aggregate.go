package table

import (
	"fmt"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// Aggregate is one aggregation of Agg: an operation over a column or an
// expression, with a name for its result. It is a value: As and With give
// changed copies.
type Aggregate struct {
	op      kernels.Aggregation
	arg     *expr.Expr // nil for Count()
	name    string
	options kernels.AggregateOptions
	err     error
}

// aggregate makes an Aggregate of a column's name or an expression.
func aggregate(op kernels.Aggregation, arg any) Aggregate {
	e, err := columnOrExpr(arg)
	if err != nil {
		return Aggregate{op: op, err: fmt.Errorf("%s: %w", op, err)}
	}
	return Aggregate{op: op, arg: e, name: op.String() + "_" + nameOf(e)}
}

// columnOrExpr takes a column's name or an expression.
func columnOrExpr(arg any) (*expr.Expr, error) {
	switch arg := arg.(type) {
	case string:
		return expr.Col(arg), nil
	case *expr.Expr:
		return arg, arg.Err()
	default:
		return nil, fmt.Errorf("%w: a %T where a column's name or an expression is needed", device.ErrMismatch, arg)
	}
}

// nameOf is the name of an expression's result: its alias, the column, or its
// text.
func nameOf(e *expr.Expr) string {
	if e.Kind() == expr.KindAlias || e.Kind() == expr.KindColumn {
		return e.Name()
	}
	return e.String()
}

// As names the result. Without it the name is that of the operation and the
// column: "mean_delay"; of an expression its alias or text; of Count() "count".
func (a Aggregate) As(name string) Aggregate {
	a.name = name
	return a
}

// With sets how nulls and few values are treated, and the Ddof of Var and Std.
func (a Aggregate) With(o kernels.AggregateOptions) Aggregate {
	a.options = o
	return a
}

// Name is the name of the result.
func (a Aggregate) Name() string { return a.name }

// Spec is the operation, what it is over (nil for Count()), and how nulls and few values
// are treated; an error where the argument is neither a name nor an expression.
func (a Aggregate) Spec() (op kernels.Aggregation, arg *expr.Expr, o kernels.AggregateOptions, err error) {
	return a.op, a.arg, a.options, a.err
}

// String is the aggregation and its name, as Explain shows them.
func (a Aggregate) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return a.text()
}

// text is the aggregation as Explain shows it.
func (a Aggregate) text() string {
	if a.arg == nil {
		return fmt.Sprintf("count(*) as %s", a.name)
	}
	return a.call() + " as " + a.name
}

// call is the aggregation without its name.
func (a Aggregate) call() string {
	if a.arg == nil {
		return "count(*)"
	}
	return fmt.Sprintf("%s(%s)", a.op, a.arg)
}

// Count counts rows; given a column or expression, its values that are not
// null. The result is int64.
func Count(arg ...any) Aggregate {
	switch len(arg) {
	case 0:
		return Aggregate{op: kernels.CountAll, name: "count"}
	case 1:
		return aggregate(kernels.Count, arg[0])
	default:
		return Aggregate{err: fmt.Errorf("%w: count takes one column, not %d", device.ErrMismatch, len(arg))}
	}
}

// CountDistinct counts the distinct values that are not null, as int64.
func CountDistinct(arg any) Aggregate { return aggregate(kernels.CountDistinct, arg) }

// Sum adds up: integers as int64 or uint64, decimals with 38 digits, floats as
// float64. A sum that does not fit is an ErrValue that names it. Here and below arg
// is a column's name or an *expr.Expr, nulls are skipped, and the result is null
// where there is no value.
func Sum(arg any) Aggregate { return aggregate(kernels.Sum, arg) }

// SumWrapping adds up integers and durations modulo 2^64.
func SumWrapping(arg any) Aggregate { return aggregate(kernels.SumWrapping, arg) }

// Product multiplies, with the types of Sum, and fails as it does.
func Product(arg any) Aggregate { return aggregate(kernels.Product, arg) }

// Mean is the arithmetic mean as float64; of a bool the share that is true.
func Mean(arg any) Aggregate { return aggregate(kernels.Mean, arg) }

// Share is the part of the rows for which a condition is true, as float64: the
// Mean of it, under another name.
func Share(arg any) Aggregate {
	a := aggregate(kernels.Mean, arg)
	if a.err == nil {
		a.name = "share_" + nameOf(a.arg)
	}
	return a
}

// Min is the least value.
func Min(arg any) Aggregate { return aggregate(kernels.Min, arg) }

// Max is the greatest value.
func Max(arg any) Aggregate { return aggregate(kernels.Max, arg) }

// Var is the variance as float64, of the population (ddof 0) unless the Ddof
// of With says else.
func Var(arg any) Aggregate { return aggregate(kernels.Var, arg) }

// Std is the standard deviation as float64, the root of Var.
func Std(arg any) Aggregate { return aggregate(kernels.Std, arg) }

// First is the first value that is not null.
func First(arg any) Aggregate { return aggregate(kernels.First, arg) }

// Last is the last value that is not null.
func Last(arg any) Aggregate { return aggregate(kernels.Last, arg) }

// Any is whether a bool is true in some row.
func Any(arg any) Aggregate { return aggregate(kernels.Any, arg) }

// All is whether a bool is true in every row.
func All(arg any) Aggregate { return aggregate(kernels.All, arg) }
