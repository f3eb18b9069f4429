package kernels

import (
	"fmt"
	"math/bits"
	"unsafe"

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

// Vector is the matrix seen as a vector: where its first element is, how far
// apart they are and how many there are. A matrix of neither one row nor one
// column is an ErrMismatch.
func (m Matrix) Vector() (offset, step, n int64, err error) {
	switch {
	case m.Rows == 1:
		return m.Offset, 1, m.Cols, nil
	case m.Cols == 1:
		return m.Offset, m.Stride, m.Rows, nil
	default:
		return 0, 0, 0, mismatch("a matrix of %d x %d is no vector", m.Rows, m.Cols)
	}
}

// op is the shape of the matrix, transposed where asked for.
func (m Matrix) op(trans bool) (rows, cols int64) {
	if trans {
		return m.Cols, m.Rows
	}
	return m.Rows, m.Cols
}

// checkMatrix holds a matrix, which the error calls name, against its buffer
// and the backend's device.
func (b *Backend) checkMatrix(call, name string, m Matrix, types Types) error {
	bad := func(format string, args ...any) error {
		return b.fail(device.ErrMismatch, call, "%s: %s", name, fmt.Sprintf(format, args...))
	}
	if m.Type == nil || !types.Has(m.Type.ID()) {
		return b.fail(device.ErrUnsupported, call, "%s: a matrix of %v", name, m.Type)
	}
	if m.Rows < 0 || m.Cols < 0 || m.Offset < 0 {
		return bad("%d x %d from offset %d", m.Rows, m.Cols, m.Offset)
	}
	if m.Stride < m.Cols {
		return bad("stride %d of rows of %d", m.Stride, m.Cols)
	}
	if m.Data == nil {
		return bad("no buffer")
	}
	if p := m.Data.Place(); p != b.Device.Place() && !(p.HostAccessible() && b.Device.Place() == memory.Host) {
		return bad("its buffer lives on %s", p)
	}
	if m.Rows == 0 || m.Cols == 0 {
		return nil
	}
	have := m.Data.Len() / int64(memory.Width(m.Type))
	over, span := bits.Mul64(uint64(m.Rows-1), uint64(m.Stride))
	if over != 0 || span > uint64(have) || m.Offset > have-int64(span) || m.Cols > have-int64(span)-m.Offset {
		return bad("%d x %d from offset %d with stride %d in a buffer of %d values", m.Rows, m.Cols, m.Offset, m.Stride, have)
	}
	return nil
}

// sameTypes checks that matrices agree in type.
func (b *Backend) sameTypes(call string, names []string, ms ...Matrix) error {
	for i, m := range ms {
		if m.Type.ID() != ms[0].Type.ID() {
			return b.fail(device.ErrMismatch, call, "%s is of %s, %s of %s", names[0], ms[0].Type, names[i], m.Type)
		}
	}
	return nil
}

// apart checks that c, which is written, shares no element with m.
func (b *Backend) apart(call, nameC string, c Matrix, name string, m Matrix) error {
	if overlap(c, m) {
		return b.fail(device.ErrMismatch, call, "%s overlaps %s", nameC, name)
	}
	return nil
}

// extent is the bytes from the first element of m to its last.
func (m Matrix) extent() (from, to uint64) {
	width := uint64(memory.Width(m.Type))
	handle, offset := m.Data.Handle()
	start := uint64(handle) + uint64(offset)
	if bytes := m.Data.Bytes(); bytes != nil {
		start = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(bytes))))
	}
	from = start + uint64(m.Offset)*width
	return from, from + uint64((m.Rows-1)*m.Stride+m.Cols)*width
}

// overlap reports whether two matrices share an element. Windows of one larger
// matrix that lie side by side do not.
func overlap(a, b Matrix) bool {
	if a.Rows == 0 || a.Cols == 0 || b.Rows == 0 || b.Cols == 0 || a.Data.Place() != b.Data.Place() {
		return false
	}
	if a.Data.Place().Type == memory.OpenCL { // whose handles are no addresses
		one, _ := a.Data.Handle()
		other, _ := b.Data.Handle()
		if one != other {
			return false
		}
	}
	fromA, toA := a.extent()
	fromB, toB := b.extent()
	if toA <= fromB || toB <= fromA {
		return false
	}
	if a.Stride != b.Stride || a.Type.ID() != b.Type.ID() {
		return true // rows that interleave otherwise are not worth telling apart
	}
	if fromB < fromA {
		a, b, fromA, fromB = b, a, fromB, fromA
	}
	pitch := uint64(a.Stride) * uint64(memory.Width(a.Type))
	shift := (fromB - fromA) % pitch
	width := uint64(memory.Width(a.Type))
	return shift < uint64(a.Cols)*width || shift+uint64(b.Cols)*width > pitch
}
