package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Matrix is a dense row-major window of a buffer: element (i, j) is value
// Offset + i*Stride + j. A vector is a Matrix with one column (elements Stride
// apart) or one row.
type Matrix struct {
	Data   *memory.Buffer
	Type   arrow.DataType // float32 or float64
	Offset int64          // of the first element, in elements
	Rows   int64
	Cols   int64
	Stride int64 // leading dimension, at least Cols
}

// GEMMFunc computes C = alpha * op(A) * op(B) + beta * C in place, op being the
// transpose where asked for. With beta 0 what C held is not read. C must not
// overlap A or B. Each element is a sum over k in a fixed shape; the bound is
// |error| <= k * 2^-52 * sum|a||b| for float64 (2^-23 for float32).
type GEMMFunc func(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b Matrix, beta float64, c Matrix) error

// GEMVFunc computes y = alpha * op(A) * x + beta * y in place, as GEMM does.
type GEMVFunc func(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x Matrix, beta float64, y Matrix) error

// TransposeFunc writes the transpose of a to b, which must not overlap.
type TransposeFunc func(ctx context.Context, s device.Stream, a, b Matrix) error
