package expr

import "github.com/volley-go/volley/kernels"

// Range is what is known about a column over some rows, a Parquet row group
// say, without reading them.
type Range struct {
	// Min and Max bound the values that are not null, NaNs left out, in the
	// column's type. Either may be a null or a Scalar without a type: not known.
	Min, Max kernels.Scalar
	// Nulls is the number of nulls, -1 if not known.
	Nulls int64
	// Rows is the number of rows.
	Rows int64
}
