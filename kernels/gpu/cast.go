package gpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// castTypes are the types of cast's argument: all that casts are defined for
// but texts, which the kernels neither read nor write.
var castTypes = kernels.KeyTypes &^ kernels.BinaryTypes

// cast is the GPU's CastFunc.
func (e *Engine) cast(ctx context.Context, s device.Stream, col *memory.Column, to arrow.DataType, o kernels.CastOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	from, n := col.Type(), col.Len()
	x, y := plainType(from), plainType(to)
	switch {
	case arrow.TypeEqual(from, to):
		return col.Slice(0, n)
	case from.ID() == arrow.NULL:
		return c.give(c.allNull(to, n)), c.err
	case !arrow.TypeEqual(x, y) && !castSameBytes(x, y) && (kernels.BinaryTypes.Has(x.ID()) || kernels.BinaryTypes.Has(y.ID())):
		name := e.dev.Name()
		c.fail(&device.Error{Device: name, Kind: device.ErrUnsupported, Text: fmt.Sprintf("cast of %s to %s", x, y), Cause: &kernels.LackError{Device: name, Types: []arrow.DataType{x, y}}})
		return nil, c.err
	case col.Dictionary() != nil:
		return c.castDictionary(col, to, o)
	}
	if d, ok := to.(*arrow.DictionaryType); ok {
		values, err := e.cast(ctx, s, col, d.ValueType, o)
		if err != nil {
			return nil, err
		}
		return c.give(c.encode(d, c.own(values))), c.err
	}
	if castSameBytes(from, to) {
		return col.WithType(to)
	}
	return c.give(c.castFixed(col, to, o)), c.err
}

// castSameBytes reports whether a cast changes the type's name only: an integer
// and the temporal type stored as it, timestamps that differ in zone, decimals
// that only gain precision, texts that become bytes.
func castSameBytes(from, to arrow.DataType) bool {
	a, aIsDecimal := from.(*arrow.Decimal128Type)
	b, bIsDecimal := to.(*arrow.Decimal128Type)
	switch {
	case aIsDecimal && bIsDecimal:
		return a.Scale == b.Scale && a.Precision <= b.Precision
	case from.ID() == arrow.TIMESTAMP && to.ID() == arrow.TIMESTAMP:
		return kernels.UnitOf(from) == kernels.UnitOf(to)
	case kernels.SignedTypes.Has(from.ID()) || kernels.SignedTypes.Has(to.ID()):
		return kernels.FixedTypes.Has(from.ID()) && kernels.FixedTypes.Has(to.ID()) && kindOf(from) == kindOf(to)
	default:
		return from.ID() == arrow.STRING && to.ID() == arrow.BINARY || from.ID() == arrow.LARGE_STRING && to.ID() == arrow.LARGE_BINARY
	}
}

// castDictionary casts the values of the dictionary once where they are fewer
// than the rows. One that does not fit may be of no row, or under nulls: then
// the rows themselves decide.
func (c *call) castDictionary(col *memory.Column, to arrow.DataType, o kernels.CastOptions) (*memory.Column, error) {
	_, again := to.(*arrow.DictionaryType)
	if d := col.Dictionary(); !again && d.Len() < col.Len() && !arrow.TypeEqual(d.Type(), to) {
		values, err := c.e.cast(c.ctx, c.s, d, to, o)
		if err == nil {
			if by := c.withDictionary(col, c.own(values)); by != nil {
				return c.give(c.decode(by)), c.err
			}
			return nil, c.err
		}
		if !errors.Is(err, device.ErrValue) {
			return nil, err
		}
	}
	plain := c.decode(col)
	if !c.ok() {
		return nil, c.err
	}
	return c.e.cast(c.ctx, c.s, plain, to, o)
}

// withDictionary is col with other values behind the same indices.
func (c *call) withDictionary(col, values *memory.Column) *memory.Column {
	if !c.ok() {
		return nil
	}
	out, err := memory.NewColumn(memory.Parts{
		Type: &arrow.DictionaryType{IndexType: col.Type().(*arrow.DictionaryType).IndexType, ValueType: values.Type()},
		Len:  col.Len(), Offset: col.Offset(), Nulls: memory.UnknownNulls, Dictionary: values.Retain(),
		Buffers: []*memory.Buffer{col.Buffer(0).Retain(), col.Buffer(1).Retain()},
	})
	c.fail(err)
	return c.own(out)
}

// castFixed casts between types of a fixed width and bool.
func (c *call) castFixed(col *memory.Column, to arrow.DataType, o kernels.CastOptions) *memory.Column {
	from, n := col.Type(), col.Len()
	x, y := kindOf(from), kindOf(to)
	if y == kindBool {
		out := c.result(bitBytes(n))
		c.launch("cast", "cast_to_bool", groupsFor(n, compareRows), int32(x), c.data(col), out, n)
		return c.fixedColumn(to, out, n, col)
	}
	lookFor := uint32(0)
	if !o.Wrap && x != kindBool {
		lookFor = badOverflow | badInexact
	}
	found := c.finding(lookFor)
	out := c.result(int64(memory.Width(to)) * n)
	source := []any{int32(x), c.data(col), c.validity(col)}
	switch {
	case y == kindWide:
		digits, precision := to.(*arrow.Decimal128Type).Scale, to.(*arrow.Decimal128Type).Precision
		if d, ok := from.(*arrow.Decimal128Type); ok {
			digits -= d.Scale
		}
		c.launch("castdecimal", "cast_to_decimal", c.strided(n), append(append(source, digits, precision, out, n), found.args()...)...)
	case x == kindWide:
		scale := from.(*arrow.Decimal128Type).Scale
		c.launch("castdecimal", "cast_from_decimal", c.strided(n), append(append(source, scale, int32(y), out, n), found.args()...)...)
	case kernels.TemporalTypes.Has(from.ID()) && kernels.TemporalTypes.Has(to.ID()):
		c.castTemporal(col, to, out, found)
	default:
		c.launch("cast", "cast_numbers", groupsFor(n, elementTile), append(append(source, int32(y), out, n), found.args()...)...)
	}
	c.check(found, n, func(row int64) error {
		v := c.scalarAt(col, row)
		if !c.ok() {
			return c.err
		}
		if _, err := kernels.CastScalar(v, to, o); err != nil {
			return err
		}
		return badValue("%s of %s does not fit %s", v, from, to)
	})
	return c.fixedColumn(to, out, n, col)
}
