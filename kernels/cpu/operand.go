package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// The types that loops are written for.
type (
	signed   interface{ int8 | int16 | int32 | int64 }
	unsigned interface {
		uint8 | uint16 | uint32 | uint64
	}
	integer interface{ signed | unsigned }
	number  interface{ integer | float }
)

// decimal is a decimal128 as it lies in memory. It is a struct, not an array,
// because only that is kept in registers.
type decimal struct{ lo, hi uint64 }

// operand is one side of an operation: a column, or a value for every row.
type operand struct {
	col *memory.Column
	val kernels.Scalar
}

func operandOf(d kernels.Datum) operand {
	if c, ok := d.(*memory.Column); ok {
		return operand{col: c}
	}
	return operand{val: d.(kernels.Scalar)}
}

// null reports whether every row is null because the scalar is.
func (o operand) null() bool { return o.col == nil && !o.val.Valid() }

// rowsOf is the number of rows that the columns among os have.
func rowsOf(os ...operand) int64 {
	for _, o := range os {
		if o.col != nil {
			return o.col.Len()
		}
	}
	return 0
}

// scalarAs is a scalar as the Go type that columns of its type hold.
func scalarAs[T number](v kernels.Scalar) T {
	if kernels.FloatTypes.Has(v.Type().ID()) {
		return T(v.Float64())
	}
	return T(v.Uint64()) // cut to the width: the bits are sign-extended
}

// storageID is the id of the number that a type's values are stored as.
func storageID(t arrow.DataType) arrow.Type {
	switch t.ID() {
	case arrow.DATE32, arrow.TIME32:
		return arrow.INT32
	case arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return arrow.INT64
	default:
		return t.ID()
	}
}

// rowErrors keeps the error of the least row that failed: morsels are handed
// out in order, so that those before a failing one all run to their end, and
// the row named does not depend on the number of workers.
type rowErrors struct {
	mu  sync.Mutex
	row int64
	err error
}

// at records an error of a row and returns it.
func (r *rowErrors) at(row int64, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || row < r.row {
		r.row, r.err = row, fmt.Errorf("row %d: %w", row, err)
	}
	return err
}

// of is the error to return for what parallel returned.
func (r *rowErrors) of(err error) error {
	if err != nil && r.err != nil && errors.Is(err, device.ErrValue) {
		return r.err
	}
	return err
}

// badValue is an ErrValue with a text.
func badValue(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrValue}, args...)...)
}

// rowIn reports whether row i is valid in a bitmap that may be nil.
func rowIn(valid memory.Bitmap, i int64) bool { return valid == nil || valid.Get(i) }

// bit is 1 for true; the compiler makes it one instruction.
func bit(v bool) byte {
	var b byte
	if v {
		b = 1
	}
	return b
}

// texts is a column of strings or bytes with offsets of type T.
type texts[T int32 | int64] struct {
	offsets []T
	data    []byte
}

func textsOf[T int32 | int64](c *memory.Column) texts[T] {
	t := texts[T]{offsets: memory.Offsets[T](c)}
	if b := c.Buffer(2); b != nil {
		t.data = b.Bytes()
	}
	return t
}

// at is the bytes of row i.
func (t texts[T]) at(i int64) []byte {
	from, to := t.offsets[i], t.offsets[i+1]
	if from == to {
		return nil
	}
	return t.data[from:to]
}

// buildText lays out the strings of a result in two passes over the rows:
// measure gives the length of each row of a span; fill writes each one after
// the other to data, which begins at the span's first byte. What has no room in 32-bit offsets is an ErrValue.
func buildText[T int32 | int64](ctx context.Context, o *out, measure func(w int, s span, lengths []T), fill func(w int, s span, data []byte)) error {
	n := o.parts.Len
	var t T
	width := int64(4)
	if _, large := any(t).(int64); large {
		width = 8
	}
	if err := o.buffer(1, (n+1)*width); err != nil {
		return err
	}
	offsets := view[T](o, 1)
	offsets[0] = 0
	sums := make([]int64, morsels(n))
	err := parallel(ctx, n, func(w int, s span) error {
		lengths := offsets[s.from+1 : s.to+1]
		measure(w, s, lengths)
		for _, k := range lengths {
			sums[s.index] += int64(k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	total := int64(0)
	for i, k := range sums {
		sums[i], total = total, total+k
	}
	if width == 4 && total > math.MaxInt32 {
		return badValue("%d bytes of %s are more than 32-bit offsets reach: cast to the large type", total, o.parts.Type)
	}
	if err := o.buffer(2, total); err != nil {
		return err
	}
	data := o.parts.Buffers[2].Bytes()
	return parallel(ctx, n, func(w int, s span) error {
		at := T(sums[s.index])
		ends := offsets[s.from+1 : s.to+1]
		for i, k := range ends {
			at += k
			ends[i] = at
		}
		fill(w, s, data[sums[s.index]:at])
		return nil
	})
}
