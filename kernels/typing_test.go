package kernels

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
)

func dec(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }

func dict(v arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: v}
}

// typed is a pair of types with the type that a rule gives, or its error.
type typed struct {
	a, b, want arrow.DataType
	kind       error
}

func (c typed) check(t *testing.T, what string, got arrow.DataType, err error) {
	t.Helper()
	if c.kind != nil {
		if !errors.Is(err, c.kind) {
			t.Errorf("%s %s %s: got %v, %v; want the error %v", c.a, what, c.b, got, err, c.kind)
		} else if !strings.Contains(err.Error(), c.a.String()) || !strings.Contains(err.Error(), c.b.String()) {
			t.Errorf("%s %s %s: the error %q does not name both types", c.a, what, c.b, err)
		}
		return
	}
	if err != nil || !arrow.TypeEqual(got, c.want) {
		t.Errorf("%s %s %s: got %v, %v; want %s", c.a, what, c.b, got, err, c.want)
	}
}

func TestArithmeticType(t *testing.T) {
	p, f := arrow.PrimitiveTypes, arrow.FixedWidthTypes
	berlin := &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Berlin"}
	paris := &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Paris"}
	naive := &arrow.TimestampType{Unit: arrow.Second}
	for _, c := range []struct {
		op ArithmeticOp
		typed
	}{
		{Add, typed{p.Int8, p.Int8, p.Int8, nil}},
		{Add, typed{p.Int8, p.Int16, nil, device.ErrMismatch}},
		{Multiply, typed{p.Int64, dec(9, 2), nil, device.ErrMismatch}},
		{Add, typed{arrow.BinaryTypes.String, arrow.BinaryTypes.String, nil, device.ErrUnsupported}},
		{Add, typed{f.Boolean, f.Boolean, nil, device.ErrUnsupported}},
		{Add, typed{dec(10, 2), dec(7, 4), dec(13, 4), nil}},
		{Multiply, typed{dec(10, 2), dec(7, 4), dec(18, 6), nil}},
		{Divide, typed{dec(10, 2), dec(7, 4), dec(18, 6), nil}},
		{Modulo, typed{dec(10, 2), dec(7, 4), dec(7, 4), nil}},
		{Add, typed{dec(38, 4), dec(38, 4), dec(38, 4), nil}},
		{Multiply, typed{dec(38, 20), dec(38, 20), nil, device.ErrUnsupported}},
		{Subtract, typed{naive, naive, f.Duration_s, nil}},
		{Subtract, typed{berlin, paris, f.Duration_s, nil}},
		{Subtract, typed{berlin, naive, nil, device.ErrMismatch}},
		{Add, typed{naive, naive, nil, device.ErrMismatch}},
		{Add, typed{berlin, f.Duration_s, berlin, nil}},
		{Add, typed{f.Duration_s, berlin, berlin, nil}},
		{Subtract, typed{f.Duration_s, berlin, nil, device.ErrMismatch}},
		{Add, typed{berlin, f.Duration_ms, nil, device.ErrMismatch}},
		{Subtract, typed{f.Date32, f.Date32, f.Duration_s, nil}},
		{Subtract, typed{f.Date64, f.Date64, f.Duration_ms, nil}},
		{Add, typed{f.Date32, f.Duration_us, &arrow.TimestampType{Unit: arrow.Microsecond}, nil}},
		{Add, typed{f.Date64, f.Duration_s, nil, device.ErrMismatch}},
		{Subtract, typed{f.Time64ns, f.Time64ns, f.Duration_ns, nil}},
		{Multiply, typed{f.Duration_s, p.Int64, f.Duration_s, nil}},
		{Multiply, typed{p.Int64, f.Duration_s, f.Duration_s, nil}},
		{Divide, typed{f.Duration_s, p.Int64, f.Duration_s, nil}},
		{Divide, typed{p.Int64, f.Duration_s, nil, device.ErrMismatch}},
		{Modulo, typed{f.Duration_s, f.Duration_s, f.Duration_s, nil}},
	} {
		got, err := ArithmeticType(c.op, c.a, c.b)
		c.check(t, c.op.String(), got, err)
	}
	if _, err := ArithmeticType(99, p.Int8, p.Int8); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("operation 99: %v", err)
	}
}

func TestCompareAndMixType(t *testing.T) {
	p, text := arrow.PrimitiveTypes, arrow.BinaryTypes.String
	truth := arrow.FixedWidthTypes.Boolean
	for _, c := range []typed{
		{p.Int64, p.Int64, truth, nil},
		{p.Int64, p.Int32, nil, device.ErrMismatch},
		{text, arrow.BinaryTypes.LargeString, nil, device.ErrMismatch},
		{dict(text), text, truth, nil},
		{dict(text), dict(p.Int64), nil, device.ErrMismatch},
		{dec(9, 2), dec(12, 2), truth, nil},
		{dec(9, 2), dec(9, 3), nil, device.ErrMismatch},
		{arrow.ListOf(p.Int64), arrow.ListOf(p.Int64), nil, device.ErrUnsupported},
	} {
		got, err := CompareType(Less, c.a, c.b)
		c.check(t, "<", got, err)
	}
	for _, c := range []typed{
		{text, text, text, nil},
		{dict(text), text, dict(text), nil},
		{text, dict(text), dict(text), nil},
		{dec(9, 2), dec(12, 2), nil, device.ErrMismatch},
		{p.Int64, text, nil, device.ErrMismatch},
		{arrow.ListOf(p.Int64), arrow.ListOf(p.Int64), nil, device.ErrUnsupported},
	} {
		got, err := MixType(c.a, c.b)
		c.check(t, "or", got, err)
	}
}

func TestUnaryAndTemporalType(t *testing.T) {
	p, f := arrow.PrimitiveTypes, arrow.FixedWidthTypes
	for _, c := range []struct {
		op   UnaryOp
		t    arrow.DataType
		want arrow.DataType
	}{
		{Negate, p.Uint8, p.Uint8}, {Sign, p.Int64, p.Int8}, {Sign, p.Float32, p.Float32}, {Sqrt, p.Int32, p.Float64},
		{Exp, p.Float32, p.Float32}, {Round, dec(9, 2), dec(9, 2)}, {Abs, f.Duration_s, f.Duration_s}, {Floor, p.Int8, p.Int8},
		{Sqrt, dec(9, 2), nil}, {Round, f.Duration_s, nil}, {Negate, f.Date32, nil}, {Negate, f.Boolean, nil},
	} {
		got, err := UnaryType(c.op, c.t)
		if c.want == nil && !errors.Is(err, device.ErrUnsupported) || c.want != nil && (err != nil || !arrow.TypeEqual(got, c.want)) {
			t.Errorf("%s of %s: %v, %v; want %v", c.op, c.t, got, err, c.want)
		}
	}
	for _, c := range []struct {
		f  TemporalField
		t  arrow.DataType
		ok bool
	}{
		{Year, f.Date32, true}, {Hour, f.Date32, false}, {Hour, f.Time32s, true}, {Day, f.Time64us, false},
		{Second, f.Timestamp_ns, true}, {Year, f.Duration_s, false}, {Year, p.Int64, false},
		{Year, &arrow.TimestampType{TimeZone: "Atlantis"}, false},
	} {
		if _, err := TemporalType(c.f, c.t); (err == nil) != c.ok || err != nil && !errors.Is(err, device.ErrUnsupported) {
			t.Errorf("%s of %s: %v", c.f, c.t, err)
		}
	}
}

func TestCanCast(t *testing.T) {
	p, f, text := arrow.PrimitiveTypes, arrow.FixedWidthTypes, arrow.BinaryTypes.String
	for _, c := range []struct {
		from, to arrow.DataType
		ok       bool
	}{
		{p.Int8, p.Float64, true}, {p.Int8, f.Boolean, true}, {dec(9, 2), p.Int8, true}, {p.Int16, f.Date32, true},
		{f.Date32, p.Float64, false}, {f.Date32, f.Timestamp_ns, true}, {f.Timestamp_ns, f.Time64us, true},
		{f.Time64us, f.Timestamp_ns, false}, {f.Date32, f.Time32s, false}, {f.Duration_s, f.Time32s, false},
		{text, f.Time32s, true}, {f.Duration_s, text, true}, {text, arrow.BinaryTypes.LargeBinary, true},
		{arrow.BinaryTypes.Binary, p.Int8, false}, {arrow.Null, dict(text), true}, {p.Int8, arrow.Null, false},
		{dict(text), p.Int64, true}, {p.Int64, dict(text), true}, {text, dict(dict(text)), false}, {arrow.ListOf(p.Int8), text, false},
		{p.Int8, &arrow.Decimal128Type{Precision: 39}, false},
	} {
		if err := CanCast(c.from, c.to); (err == nil) != c.ok || err != nil && !errors.Is(err, device.ErrUnsupported) {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}
