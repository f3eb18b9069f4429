package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Aggregation reduces many values to one, over a whole column or each group.
type Aggregation int

// The aggregations and the type of their result. Sum and Product of integers
// are int64 or uint64 and wrap, of floats float64, of decimals
// decimal128(38, scale) for Sum. Mean, Var and Std are float64.
const (
	Sum Aggregation = iota
	Product
	Min // of the values' type; NaN only where there is nothing else
	Max
	Count         // values that are not null, int64
	CountAll      // rows, int64; takes no values
	CountDistinct // distinct values that are not null, int64
	Mean
	Var
	Std
	Any // Kleene or: null only if nothing is true and something is null while SkipNulls is off
	All
	First // the first value that is not null
	Last
	ArgMin // row (IndexType) of the first least value; over a whole column only
	ArgMax
)

// AggregateOptions are those of Arrow's scalar aggregates. The zero value is
// the usual one: nulls are skipped, one value is enough, ddof 0.
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

// ReduceFunc reduces a column to a column of one row.
//
// Floats are summed in a fixed shape (pairs within blocks, blocks in order)
// that depends on the length alone; the bound is |error| <= 1e-14 * sum|x| for
// float64 input of up to 1e9 values. Var is by two passes or an equal method
// within 1e-12 relative where the mean is not huge against the spread.
type ReduceFunc func(ctx context.Context, s device.Stream, op Aggregation, c *memory.Column, o AggregateOptions) (*memory.Column, error)

// ScanOp is a running reduction.
type ScanOp int

// The scans.
const (
	CumulativeSum ScanOp = iota
	CumulativeProduct
	CumulativeMin
	CumulativeMax
)

// ScanOptions tune Scan.
type ScanOptions struct {
	// Exclusive leaves the row's own value out: row 0 is the identity (0, 1, the
	// greatest, the least value).
	Exclusive bool
	// KeepNulls makes every row from the first null on null; without it a null
	// row is null and the scan goes on over it.
	KeepNulls bool
	// Checked makes integer overflow an ErrValue that names the row.
	Checked bool
}

// ScanFunc is the running reduction of a column, in the column's own type.
// Floats are summed in a fixed shape as in Reduce.
type ScanFunc func(ctx context.Context, s device.Stream, op ScanOp, c *memory.Column, o ScanOptions) (*memory.Column, error)

// Groups number the distinct keys among rows.
type Groups struct {
	// IDs is the group of each row (IndexType), null for rows dropped.
	IDs *memory.Column
	// First is the first row of each group (IndexType): rising, unless AnyOrder.
	First *memory.Column
	// N is the number of groups.
	N int64
}

// Release drops the references to the columns.
func (g *Groups) Release() {
	if g != nil {
		g.IDs.Release()
		g.First.Release()
	}
}

// GroupOptions tune grouping.
type GroupOptions struct {
	// DropNullKeys leaves out rows with a null in any key; without it null is a
	// key like others, equal to itself.
	DropNullKeys bool
	// AnyOrder allows groups in any order instead of that of first appearance.
	AnyOrder bool
}

// GroupFunc gives the same number to rows whose keys are all equal, counting
// from 0 in order of first appearance. NaNs are equal, -0 equals 0.
type GroupFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*Groups, error)

// AggregateFunc aggregates values by group: row i of values belongs to group
// ids[i] < n, to none if that is null. The result has n rows. values is nil for
// CountAll. Floats are summed within a group in a shape fixed by data and n.
type AggregateFunc func(ctx context.Context, s device.Stream, op Aggregation, values, ids *memory.Column, n int64, o AggregateOptions) (*memory.Column, error)

// Aggregate is one aggregation of GroupBy.
type Aggregate struct {
	Op      Aggregation
	Values  *memory.Column // nil for CountAll
	Options AggregateOptions
}

// Grouped is the result of GroupBy: a row a group.
type Grouped struct {
	First  *memory.Column   // first row of each group, as in Groups
	Values []*memory.Column // one for each Aggregate
}

// Release drops the references to the columns.
func (g *Grouped) Release() {
	if g != nil {
		g.First.Release()
		for _, v := range g.Values {
			v.Release()
		}
	}
}

// GroupByFunc groups and aggregates in one pass, without a group number for
// every row. It equals Group followed by Aggregate of each.
type GroupByFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []Aggregate, o GroupOptions) (*Grouped, error)

// UniqueFunc gives the first row of each distinct key (IndexType), rising.
type UniqueFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*memory.Column, error)

// IsInFunc tells for each value of c whether it is among those of set, of the
// same type. The result has no nulls: a null is found if set holds a null.
type IsInFunc func(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error)
