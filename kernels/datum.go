package kernels

import "github.com/apache/arrow-go/v18/arrow"

// Datum is an argument that may be a column or one value for every row: a
// *memory.Column or a Scalar.
type Datum interface {
	// Type is the Arrow type.
	Type() arrow.DataType
}
