package gpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// matrixView is op(m): element (i, j) is element at + i*row + j*col of the
// vector.
type matrixView struct {
	vector
	rows, cols int64
	row, col   int64
}

// matrixView is a matrix, which errors call name, transposed where asked for.
func (c *call) matrixView(name string, m kernels.Matrix, trans bool) matrixView {
	width := int64(memory.Width(m.Type))
	_, offset := m.Data.Handle()
	if offset%width != 0 {
		c.failf(device.ErrUnsupported, "%s begins at byte %d of its allocation, which is no multiple of %d", name, offset, width)
	}
	v := matrixView{vector{m.Data, offset/width + m.Offset}, m.Rows, m.Cols, m.Stride, 1}
	if m.Rows == 0 || m.Cols == 0 {
		v.vector = vector{}
	}
	if trans {
		v.rows, v.cols, v.row, v.col = v.cols, v.rows, v.col, v.row
	}
	return v
}

// args are the matrix as the arguments MATRIX.
func (v matrixView) args() []any { return []any{v.vector, v.row, v.col} }

// scale is a factor in the type of the matrices.
func scale(t arrow.DataType, v float64) any {
	if t.ID() == arrow.FLOAT32 {
		return float32(v)
	}
	return v
}

// matrixModule is the module for a type of floats.
func matrixModule(stem string, t arrow.DataType) string {
	if t.ID() == arrow.FLOAT32 {
		return stem + ".f32"
	}
	return stem + ".f64"
}
