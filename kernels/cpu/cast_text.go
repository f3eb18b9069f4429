package cpu

import (
	"context"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// castTexts makes strings of bytes and the other way round, and changes the
// width of offsets. The bytes are shared.
func castTexts(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	binary := func(t arrow.DataType) bool { return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY }
	from := c.Type()
	fromLarge := memory.LayoutOf(from) == memory.LayoutLargeBinary
	toLarge := memory.LayoutOf(to) == memory.LayoutLargeBinary
	if binary(from) && !binary(to) {
		var err error
		if fromLarge {
			err = checkUTF8[int64](ctx, c)
		} else {
			err = checkUTF8[int32](ctx, c)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case fromLarge == toLarge:
		return c.WithType(to)
	case toLarge:
		return resize[int32, int64](ctx, s, c, to)
	default:
		return resize[int64, int32](ctx, s, c, to)
	}
}

func checkUTF8[T int32 | int64](ctx context.Context, c *memory.Column) error {
	values, r := textsOf[T](c), &rowErrors{}
	return r.of(parallel(ctx, c.Len(), func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			if b := values.at(i); !c.IsNull(i) && !utf8.Valid(b) {
				return r.at(i, badValue("%.64q is not UTF-8", b))
			}
		}
		return nil
	}))
}

// resize gives a column offsets of another width, from 0 on.
func resize[F, T int32 | int64](ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	offsets := memory.Offsets[F](c)
	n, first, last := c.Len(), offsets[0], offsets[c.Len()]
	if size := int64(last - first); int64(T(size)) != size {
		return nil, badValue("%d bytes of %s are more than the 32-bit offsets of %s reach", size, c.Type(), to)
	}
	o := newOut(s, to, n)
	err := o.nullsOf(c)
	if err == nil {
		err = o.buffer(1, (n+1)*int64(unsafe.Sizeof(T(0))))
	}
	if err == nil && c.Buffer(2) != nil {
		o.parts.Buffers[2], err = c.Buffer(2).Slice(int64(first), int64(last-first))
	}
	if err != nil {
		return o.column(err)
	}
	dst := view[T](o, 1)
	dst[n] = T(last - first)
	return o.column(parallel(ctx, n, func(_ int, s span) error {
		x, y := offsets[s.from:s.to], dst[s.from:s.to]
		for i, v := range x {
			y[i] = T(v - first)
		}
		return nil
	}))
}

// formatTexts writes values as text.
func formatTexts[T int32 | int64](ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	o := newOut(s, to, c.Len())
	if err := o.nullsOf(c); err != nil {
		return o.column(err)
	}
	valid := o.valid()
	put := formatter(c)
	var scratch private[[]byte]
	return o.column(buildText(ctx, o, func(w int, s span, lengths []T) {
		room := scratch.of(w)
		b := *room
		for i := range lengths {
			lengths[i] = 0
			if row := s.from + int64(i); rowIn(valid, row) {
				b = put(b[:0], row)
				lengths[i] = T(len(b))
			}
		}
		*room = b
	}, func(_ int, s span, data []byte) {
		at := data[:0]
		for i := s.from; i < s.to; i++ {
			if rowIn(valid, i) {
				at = put(at, i) // stays inside of data: the lengths were measured
			}
		}
	}))
}

// formatter appends the text of a row.
func formatter(c *memory.Column) func(b []byte, i int64) []byte {
	switch c.Type().ID() {
	case arrow.INT64:
		values := memory.Values[int64](c)
		return func(b []byte, i int64) []byte { return strconv.AppendInt(b, values[i], 10) }
	case arrow.INT32:
		values := memory.Values[int32](c)
		return func(b []byte, i int64) []byte { return strconv.AppendInt(b, int64(values[i]), 10) }
	case arrow.FLOAT64:
		values := memory.Values[float64](c)
		return func(b []byte, i int64) []byte { return kernels.AppendFloat(b, values[i], 64) }
	default:
		return func(b []byte, i int64) []byte { return kernels.AppendText(b, kernels.ScalarAt(c, i)) }
	}
}

// parseTexts reads text as a fixed-width type or bool.
func parseTexts[T int32 | int64](o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	values := textsOf[T](c)
	slow := func(i int64) (kernels.Scalar, error) {
		b := values.at(i) // read, and quoted in errors, but not kept
		return kernels.CastScalar(kernels.Text(arrow.BinaryTypes.String, unsafe.String(unsafe.SliceData(b), len(b))), to, opts)
	}
	switch to.ID() {
	case arrow.INT64:
		return parseRows(o, r, values, slow, parseInt, kernels.Scalar.Int64)
	case arrow.FLOAT64:
		return parseRows(o, r, values, slow, parseFloat, kernels.Scalar.Float64)
	default:
		return storeRows(o, r, to, slow)
	}
}

// parseRows reads each text by quick, and what that does not take by slow.
func parseRows[V int64 | float64, T int32 | int64](o *out, r *rowErrors, values texts[T], slow func(i int64) (kernels.Scalar, error), quick func([]byte) (V, bool), get func(kernels.Scalar) V) func(int, span) error {
	dst, valid := view[V](o, 1), o.valid()
	return func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			if !rowIn(valid, i) {
				continue
			}
			v, ok := quick(values.at(i))
			if !ok {
				full, err := slow(i)
				if err != nil {
					return r.at(i, err)
				}
				v = get(full)
			}
			dst[i] = v
		}
		return nil
	}
}

// parseFloat reads a float made of digits, a point and an exponent; it fails
// on anything else, on infinities too.
func parseFloat(b []byte) (float64, bool) {
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c != '-' && c != 'e' && c != '+' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	return v, err == nil
}

// parseInt reads an integer of up to 18 digits; it fails on anything else.
func parseInt(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	v := int64(0)
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		} else {
			v = v*10 + int64(c)
		}
	}
	if negative {
		v = -v
	}
	return v, true
}
