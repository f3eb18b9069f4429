package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// cast is the CPU's CastFunc. It picks the loop for the pair of types; pairs
// without one go value by value through kernels.CastScalar.
func (l *loops) cast(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) (*memory.Column, error) {
	from := c.Type()
	switch {
	case arrow.TypeEqual(from, to):
		return c.Slice(0, c.Len())
	case from.ID() == arrow.NULL:
		return nullColumn(s, to, c.Len())
	case c.Dictionary() != nil:
		return l.castDictionary(ctx, s, c, to, opts)
	}
	if d, ok := to.(*arrow.DictionaryType); ok {
		values, err := l.cast(ctx, s, c, d.ValueType, opts)
		if err != nil {
			return nil, err
		}
		defer values.Release()
		return encode(ctx, s, values, d)
	}
	if sameBytes(from, to) {
		return c.WithType(to)
	}
	if kernels.BinaryTypes.Has(from.ID()) && kernels.BinaryTypes.Has(to.ID()) {
		return castTexts(ctx, s, c, to)
	}
	if to.ID() == arrow.STRING {
		return formatTexts[int32](ctx, s, c, to)
	}
	if to.ID() == arrow.LARGE_STRING {
		return formatTexts[int64](ctx, s, c, to)
	}
	o := newOut(s, to, c.Len())
	err := o.nullsOf(c)
	if err == nil && to.ID() == arrow.BOOL {
		err = o.bits()
	} else if err == nil {
		err = o.values()
	}
	if err != nil {
		return o.column(err)
	}
	r := &rowErrors{}
	work := l.castLoop(o, r, c, to, opts)
	if work == nil {
		work = castRows(o, r, c, to, opts)
	}
	return o.column(r.of(parallel(ctx, c.Len(), work)))
}

// sameBytes reports whether a cast changes the type's name only: an integer
// and the temporal type stored as it, timestamps that differ in zone, decimals
// that only gain precision.
func sameBytes(from, to arrow.DataType) bool {
	a, aIsDecimal := from.(*arrow.Decimal128Type)
	b, bIsDecimal := to.(*arrow.Decimal128Type)
	switch {
	case aIsDecimal && bIsDecimal:
		return a.Scale == b.Scale && a.Precision <= b.Precision
	case from.ID() == arrow.TIMESTAMP && to.ID() == arrow.TIMESTAMP:
		return kernels.UnitOf(from) == kernels.UnitOf(to)
	case kernels.SignedTypes.Has(from.ID()) || kernels.SignedTypes.Has(to.ID()):
		return kernels.FixedTypes.Has(from.ID()) && kernels.FixedTypes.Has(to.ID()) && storageID(from) == storageID(to)
	default:
		return false
	}
}

// castDictionary casts the values of the dictionary once where they are fewer
// than the rows. One that does not fit may be of no row, or under nulls: then
// the rows themselves decide.
func (l *loops) castDictionary(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) (*memory.Column, error) {
	_, again := to.(*arrow.DictionaryType)
	if d := c.Dictionary(); !again && d.Len() < c.Len() && !arrow.TypeEqual(d.Type(), to) {
		if values, err := l.cast(ctx, s, d, to, opts); err == nil {
			defer values.Release()
			by, err := withDictionary(c, values)
			if err != nil {
				return nil, err
			}
			defer by.Release()
			return decode(ctx, s, by)
		} else if !isValueError(err) {
			return nil, err
		}
	}
	plain, err := decode(ctx, s, c)
	if err != nil {
		return nil, err
	}
	defer plain.Release()
	return l.cast(ctx, s, plain, to, opts)
}

// withDictionary is c with other values behind the same indices.
func withDictionary(c, values *memory.Column) (*memory.Column, error) {
	t := c.Type().(*arrow.DictionaryType)
	return memory.NewColumn(memory.Parts{
		Type: &arrow.DictionaryType{IndexType: t.IndexType, ValueType: values.Type()},
		Len:  c.Len(), Offset: c.Offset(), Nulls: c.NullCount(),
		Buffers:    []*memory.Buffer{c.Buffer(0).Retain(), c.Buffer(1).Retain()},
		Dictionary: values.Retain(),
	})
}

// castLoop is the loop for a pair of types, or nil.
func (l *loops) castLoop(o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	from := c.Type()
	numbers := kernels.NumberTypes
	temporal := kernels.TemporalTypes.Has(from.ID()) && kernels.TemporalTypes.Has(to.ID())
	switch {
	case from.ID() == arrow.BOOL && numbers.Has(to.ID()):
		return castBits(o, c, to)
	case to.ID() == arrow.BOOL && numbers.Has(from.ID()):
		return l.comparison(kernels.NotEqual, o.bitmap(1), operand{col: c}, operand{val: kernels.Int(arrow.PrimitiveTypes.Int64, 0)})
	case temporal:
		return castTemporal(o, r, c, to, opts)
	case numbers.Has(storageID(from)) && numbers.Has(storageID(to)):
		return castNumbers(l, o, r, c, to, opts)
	case from.ID() == arrow.DECIMAL128 || to.ID() == arrow.DECIMAL128:
		return l.castDecimals(o, r, c, to, opts)
	case from.ID() == arrow.STRING:
		return parseTexts[int32](o, r, c, to, opts)
	case from.ID() == arrow.LARGE_STRING:
		return parseTexts[int64](o, r, c, to, opts)
	default:
		return nil
	}
}

// castRows casts to a fixed-width type or bool value by value.
func castRows(o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	return storeRows(o, r, to, func(i int64) (kernels.Scalar, error) {
		return kernels.CastScalar(kernels.ScalarAt(c, i), to, opts)
	})
}

// storeRows writes the value that get gives for each row that is not null.
func storeRows(o *out, r *rowErrors, to arrow.DataType, get func(i int64) (kernels.Scalar, error)) func(int, span) error {
	valid := o.valid()
	put := store(o, to)
	return func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			if !rowIn(valid, i) {
				continue
			}
			v, err := get(i)
			if err != nil {
				return r.at(i, err)
			}
			put(i, v)
		}
		return nil
	}
}

// store writes a scalar to a row of o.
func store(o *out, t arrow.DataType) func(i int64, v kernels.Scalar) {
	if t.ID() == arrow.BOOL {
		dst := o.bitmap(1)
		return func(i int64, v kernels.Scalar) { dst.Put(i, v.Bool()) }
	}
	switch memory.Width(t) {
	case 1:
		dst := view[uint8](o, 1)
		return func(i int64, v kernels.Scalar) { dst[i] = uint8(v.Uint64()) }
	case 2:
		dst := view[uint16](o, 1)
		return func(i int64, v kernels.Scalar) { dst[i] = uint16(v.Uint64()) }
	case 4:
		dst := view[uint32](o, 1)
		return func(i int64, v kernels.Scalar) { dst[i] = uint32(v.Uint64()) }
	case 8:
		dst := view[uint64](o, 1)
		return func(i int64, v kernels.Scalar) { dst[i] = v.Uint64() }
	default:
		dst := view[decimal](o, 1)
		return func(i int64, v kernels.Scalar) { dst[i] = decimalOf(v) }
	}
}
