package expr

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/kernels"
)

const dateLayout = "2006-01-02"

// timestampLayouts are the texts of a timestamp, with a zone and without. A
// fraction of a second may follow the seconds of any.
var timestampLayouts = []string{
	"2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05",
	"2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", dateLayout,
}

// unitSize is the number of units in a second.
func unitSize(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

// valueText is a value as parseValue reads it.
func valueText(v kernels.Scalar) string {
	t := v.Type()
	switch id := t.ID(); {
	case id == arrow.DECIMAL128:
		return v.Decimal().ToString(t.(*arrow.Decimal128Type).Scale)
	case kernels.FloatTypes.Has(id):
		bits := 64
		if id == arrow.FLOAT32 {
			bits = 32
		}
		return strconv.FormatFloat(v.Float64(), 'g', -1, bits)
	case kernels.UnsignedTypes.Has(id):
		return strconv.FormatUint(v.Uint64(), 10)
	case id == arrow.DATE32:
		if at := time.Unix(v.Int64()*86400, 0).UTC(); fourDigits(at) {
			return at.Format(dateLayout)
		}
	case id == arrow.TIMESTAMP:
		ts := t.(*arrow.TimestampType)
		size := unitSize(ts.Unit)
		sec := floorDiv(v.Int64(), size)
		at := time.Unix(sec, (v.Int64()-sec*size)*int64(ts.Unit.Multiplier())).UTC()
		if _, err := ts.GetZone(); err != nil || !fourDigits(at) {
			break
		}
		if ts.TimeZone != "" {
			return at.Format("2006-01-02 15:04:05.999999999Z07:00")
		}
		return at.Format("2006-01-02 15:04:05.999999999")
	}
	return strconv.FormatInt(v.Int64(), 10)
}

func fourDigits(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// parseValue reads a value of type t. Temporal types also take a whole number:
// the value as it is stored.
func parseValue(t arrow.DataType, text string) (kernels.Scalar, error) {
	fail := func() (kernels.Scalar, error) {
		return kernels.Scalar{}, fmt.Errorf("%w: %s is no value of type %s", errType, quoteText(shortened(text)), TypeName(t))
	}
	id := t.ID()
	switch {
	case kernels.BinaryTypes.Has(id):
		return kernels.Text(t, text), nil
	case id == arrow.BOOL:
		switch text {
		case "true":
			return kernels.Bool(true), nil
		case "false":
			return kernels.Bool(false), nil
		}
		return fail()
	case kernels.UnsignedTypes.Has(id):
		v, err := strconv.ParseUint(text, 10, t.(arrow.FixedWidthDataType).BitWidth())
		if err != nil {
			return fail()
		}
		return kernels.Int(t, int64(v)), nil
	case kernels.SignedTypes.Has(id):
		v, err := strconv.ParseInt(text, 10, t.(arrow.FixedWidthDataType).BitWidth())
		if err != nil {
			return fail()
		}
		return kernels.Int(t, v), nil
	case kernels.FloatTypes.Has(id):
		v, err := strconv.ParseFloat(text, t.(arrow.FixedWidthDataType).BitWidth())
		if err != nil {
			return fail()
		}
		return kernels.Float(t, v), nil
	case id == arrow.DECIMAL128:
		d := t.(*arrow.Decimal128Type)
		v, ok := parseDecimal(text, d.Precision, d.Scale)
		if !ok {
			return fail()
		}
		return kernels.Decimal(t, v), nil
	case kernels.TemporalTypes.Has(id):
		v, ok := parseTemporal(t, text)
		if !ok {
			return fail()
		}
		return kernels.Int(t, v), nil
	default:
		return fail()
	}
}

// parseDecimal reads a decimal exactly: digits past the scale must be zeros.
func parseDecimal(text string, precision, scale int32) (decimal128.Num, bool) {
	digits, negative, point, seen := "", false, -1, false
	if len(text) > 300 {
		return decimal128.Num{}, false
	}
	for i, c := range []byte(text) {
		switch {
		case (c == '-' || c == '+') && i == 0:
			negative = c == '-'
		case c == '.' && point < 0:
			point = len(digits)
		case c >= '0' && c <= '9':
			digits += string(c)
			seen = true
		default:
			return decimal128.Num{}, false
		}
	}
	if !seen || len(digits) > 200 {
		return decimal128.Num{}, false
	}
	if point < 0 {
		point = len(digits)
	}
	for len(digits)-point < int(scale) {
		digits += "0"
	}
	for len(digits)-point > int(scale) {
		last := len(digits) - 1
		if last < 0 || digits[last] != '0' {
			return decimal128.Num{}, false
		}
		digits = digits[:last]
	}
	if digits == "" {
		digits = "0"
	}
	v, err := decimal128.FromString(digits, 38, 0)
	if err != nil || !v.FitsInPrecision(precision) {
		return decimal128.Num{}, false
	}
	if negative {
		v = v.Negate()
	}
	return v, true
}

func parseTemporal(t arrow.DataType, text string) (int64, bool) {
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	if v, err := strconv.ParseInt(text, 10, bits); err == nil {
		return v, true
	}
	switch t := t.(type) {
	case *arrow.Date32Type:
		at, err := time.Parse(dateLayout, text)
		return floorDiv(at.Unix(), 86400), err == nil
	case *arrow.Date64Type:
		at, err := time.Parse(dateLayout, text)
		return at.UnixMilli(), err == nil
	case *arrow.TimestampType:
		return parseTimestamp(t, text)
	case *arrow.Time32Type:
		return parseClock(text, t.Unit)
	case *arrow.Time64Type:
		return parseClock(text, t.Unit)
	default:
		return 0, false
	}
}

// parseTimestamp reads a timestamp. A text without an offset is in the type's
// zone, or is the plain clock reading where that has none.
func parseTimestamp(t *arrow.TimestampType, text string) (int64, bool) {
	zone := time.UTC
	if t.TimeZone != "" {
		var err error
		if zone, err = t.GetZone(); err != nil || zone == nil {
			return 0, false
		}
	}
	for _, layout := range timestampLayouts {
		at, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		size, nanos := unitSize(t.Unit), int64(at.Nanosecond())
		step := int64(t.Unit.Multiplier())
		sec := at.Unix()
		if nanos%step != 0 || sec > math.MaxInt64/size-1 || sec < math.MinInt64/size+1 {
			return 0, false
		}
		return sec*size + nanos/step, true
	}
	return 0, false
}

func parseClock(text string, unit arrow.TimeUnit) (int64, bool) {
	for _, layout := range []string{"15:04:05", "15:04"} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		nanos := at.Sub(at.Truncate(24 * time.Hour)).Nanoseconds()
		step := int64(unit.Multiplier())
		return nanos / step, nanos%step == 0
	}
	return 0, false
}
