package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// CastOptions say what a cast does with values that do not fit.
type CastOptions struct {
	// Wrap lets integers wrap, floats truncate and times lose precision as Go
	// conversions do. Without it a value that changes is an ErrValue that names
	// the row. A text that is no value of the target is an ErrValue either way.
	Wrap bool
}

// CastFunc converts a column to another type. Where CanCast allows it, a cast
// goes as CastScalar says; nulls stay null. A cast that changes no bytes shares
// the column's buffers, and so keeps its offset.
type CastFunc func(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, o CastOptions) (*memory.Column, error)

// kind groups types that cast alike.
type kind int

const (
	otherKind kind = iota
	nullKind
	boolKind
	intKind
	floatKind
	decimalKind
	dateKind
	timeKind
	timestampKind
	durationKind
	textKind
	bytesKind
)

func kindOf(t arrow.DataType) kind {
	switch id := t.ID(); {
	case id == arrow.NULL:
		return nullKind
	case id == arrow.BOOL:
		return boolKind
	case IntegerTypes.Has(id):
		return intKind
	case FloatTypes.Has(id):
		return floatKind
	case id == arrow.DECIMAL128:
		return decimalKind
	case id == arrow.DATE32 || id == arrow.DATE64:
		return dateKind
	case id == arrow.TIME32 || id == arrow.TIME64:
		return timeKind
	case id == arrow.TIMESTAMP:
		return timestampKind
	case id == arrow.DURATION:
		return durationKind
	case id == arrow.STRING || id == arrow.LARGE_STRING:
		return textKind
	case id == arrow.BINARY || id == arrow.LARGE_BINARY:
		return bytesKind
	default:
		return otherKind
	}
}

// CanCast is nil where from can be cast to to, else an ErrUnsupported that
// names both:
//
//   - null to anything; any type to itself;
//   - bool, integers, floats and decimals to each other;
//   - integers and temporal types to each other, as the integer that is stored;
//   - dates and timestamps to each other, timestamps to times, and each
//     temporal type to its other units and zones;
//   - utf8 to and from all of these and binary; large types as small ones;
//   - a dictionary as its values, and values to a dictionary of such.
func CanCast(from, to arrow.DataType) error {
	if d, ok := to.(*arrow.DictionaryType); ok && kindOf(d.ValueType) < boolKind {
		return unsupported("cast of %s to %s", from, to)
	}
	a, b := kindOf(plain(from)), kindOf(plain(to))
	ok := false
	switch {
	case a == otherKind || b == otherKind:
	case a == nullKind || a == b:
		ok = true
	case b == nullKind:
	case a == textKind || b == textKind:
		ok = true
	case a == bytesKind || b == bytesKind:
	case a <= decimalKind && b <= decimalKind:
		ok = true
	case a == intKind || b == intKind: // the other is temporal
		ok = a >= dateKind || b >= dateKind
	default:
		ok = a == dateKind && b == timestampKind || a == timestampKind && (b == dateKind || b == timeKind)
	}
	if !ok {
		return unsupported("cast of %s to %s", from, to)
	}
	for _, t := range []arrow.DataType{plain(from), plain(to)} {
		if _, err := Zone(t); err != nil {
			return err
		}
		if d, ok := t.(*arrow.Decimal128Type); ok && (d.Precision < 1 || d.Precision > 38 || d.Scale < -38 || d.Scale > 38) {
			return unsupported("cast of %s to %s: precision and scale go to 38", from, to)
		}
	}
	return nil
}

// CastScalar is one value cast to another type, which CanCast must allow; to a
// dictionary type it gives a value of the dictionary's. It is the meaning of
// Cast. Errors are ErrValue unless o.Wrap says otherwise.
//
//   - Integers out of range: an error; wrapped to the width.
//   - Integers that a float cannot hold exactly: an error; the nearest float.
//   - Floats to integers: a fraction, an infinity or a NaN is an error; the
//     fraction is cut off, what is out of range becomes the least or greatest
//     integer, and NaN 0, on every backend alike.
//   - float64 to float32 rounds to nearest; out of range: an error; infinite.
//   - Numbers to bool: everything but 0 is true, NaN too.
//   - Decimals: a digit lost or a precision exceeded is an error; digits are
//     cut off, and values wrap at 128 bits. Decimals become the nearest float,
//     floats the nearest decimal, halves to even.
//   - Temporal units: a remainder or an overflow is an error; rounded down and
//     wrapped. timestamp to date or time takes the day or the time of day on the
//     clock of its zone, which is no loss; dates become midnight UTC. A change of zone
//     keeps the instant; a timestamp without zone counts as UTC.
//   - Text: ISO 8601 dates ("2024-02-29"), times ("13:05", "13:05:09.250"),
//     timestamps (both with "T" or a space between, and with "Z" or "+01:00"
//     after exactly where the type has a zone), years past 9999 with a sign;
//     durations as "15s", "20ms", "5us", "1ns"; "true", "false", "1", "0" in any
//     case; numbers in decimal with an exponent for floats and decimals, "inf",
//     "nan". No spaces around.
//   - Bytes to text must be valid UTF-8.
func CastScalar(v Scalar, to arrow.DataType, o CastOptions) (Scalar, error) {
	if v.typ == nil || to == nil {
		return Scalar{}, mismatch("cast without a type")
	}
	to = plain(to)
	if err := CanCast(v.typ, to); err != nil {
		return Scalar{}, err
	}
	if !v.valid {
		return Null(to), nil
	}
	v.typ = plain(v.typ)
	from, into := kindOf(v.typ), kindOf(to)
	switch {
	case from == textKind && into != textKind && into != bytesKind:
		return parse(v.text, to, o)
	case into == textKind && from != textKind && from != bytesKind:
		return Text(to, string(AppendText(nil, v))), nil
	case from == textKind || from == bytesKind:
		return castBytes(v, to)
	case from == decimalKind || into == decimalKind:
		return castDecimal(v, to, o)
	case from >= dateKind && into >= dateKind:
		return castTemporal(v, to, o)
	default:
		return castNumber(v, to, o)
	}
}

// Cast converts c to another type, as CastScalar says value by value; nulls stay
// null. A pair of types that CanCast refuses is an ErrUnsupported, a value that
// does not fit an ErrValue that names its row.
func (b *Backend) Cast(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, o CastOptions) (out *memory.Column, err error) {
	const call = "cast"
	defer b.guard(call, &err)
	if err = b.present(call, c); err != nil {
		return nil, err
	}
	if to == nil {
		return nil, b.fail(device.ErrMismatch, call, "no type to cast %s to", c.Type())
	}
	if err = CanCast(c.Type(), to); err != nil {
		return nil, err
	}
	e := b.Set.Cast
	if e.Func != nil && !e.Types.Has(c.Type().ID()) && e.Types.Has(arrow.INT32) && widens(c.Type(), to) {
		return b.widen(ctx, s, c, to)
	}
	if d := c.Dictionary(); d != nil && e.Func != nil && !e.Types.Has(d.Type().ID()) && widens(d.Type(), to) {
		return b.widenValues(ctx, s, c, to)
	}
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, c, to, o)
}
