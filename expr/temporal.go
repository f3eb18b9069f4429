package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// unitOf is the unit of a type of times; a date has the unit of its finest
// timestamp, seconds.
func unitOf(t arrow.DataType) (arrow.TimeUnit, bool) {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return arrow.Second, true
	case *arrow.Date64Type:
		return arrow.Millisecond, true
	case *arrow.TimestampType:
		return t.Unit, true
	case *arrow.Time32Type:
		return t.Unit, true
	case *arrow.Time64Type:
		return t.Unit, true
	case *arrow.DurationType:
		return t.Unit, true
	}
	return 0, false
}

// commonTime is the finer of two types of times of one kind; a date is a
// timestamp without zone beside one.
func commonTime(a, b arrow.DataType) (arrow.DataType, error) {
	ua, ok1 := unitOf(a)
	ub, ok2 := unitOf(b)
	if !ok1 || !ok2 {
		return nil, errPlain
	}
	unit := max(ua, ub)
	switch {
	case a.ID() == arrow.DURATION && b.ID() == arrow.DURATION:
		return &arrow.DurationType{Unit: unit}, nil
	case isClock(a) && isClock(b):
		if unit >= arrow.Microsecond {
			return &arrow.Time64Type{Unit: unit}, nil
		}
		return &arrow.Time32Type{Unit: unit}, nil
	case isDate(a) && isDate(b):
		return arrow.FixedWidthTypes.Date64, nil
	case isInstant(a) && isInstant(b):
		za, zb := zoneOf(a), zoneOf(b)
		if (za == "") != (zb == "") {
			return nil, errPlain
		}
		return &arrow.TimestampType{Unit: unit, TimeZone: za}, nil
	}
	return nil, errPlain
}

func isClock(t arrow.DataType) bool { return t.ID() == arrow.TIME32 || t.ID() == arrow.TIME64 }

func isDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

func isInstant(t arrow.DataType) bool { return isDate(t) || t.ID() == arrow.TIMESTAMP }

func zoneOf(t arrow.DataType) string {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone
	}
	return ""
}

// times brings two operands of arithmetic to one unit, and numbers beside a
// duration to int64.
func (b *binder) times(x, y int) (int, int) {
	tx, ty := b.typ(x), b.typ(y)
	ux, ok1 := unitOf(tx)
	uy, ok2 := unitOf(ty)
	switch {
	case ok1 && ok2:
		unit := max(ux, uy)
		return b.withUnit(x, ty, unit), b.withUnit(y, tx, unit)
	case tx.ID() == arrow.DURATION && kernels.IntegerTypes.Has(ty.ID()):
		return x, b.cast(y, arrow.PrimitiveTypes.Int64)
	case ty.ID() == arrow.DURATION && kernels.IntegerTypes.Has(tx.ID()):
		return b.cast(x, arrow.PrimitiveTypes.Int64), y
	}
	return x, y
}

// withUnit casts step i to the unit. A date stays one beside a date or a
// duration, for which there is arithmetic, and is a timestamp beside one.
func (b *binder) withUnit(i int, other arrow.DataType, unit arrow.TimeUnit) int {
	switch t := b.typ(i).(type) {
	case *arrow.TimestampType:
		return b.cast(i, &arrow.TimestampType{Unit: unit, TimeZone: t.TimeZone})
	case *arrow.DurationType:
		return b.cast(i, &arrow.DurationType{Unit: unit})
	case *arrow.Time32Type, *arrow.Time64Type:
		if isClock(other) {
			t, _ := commonTime(t, other)
			return b.cast(i, t)
		}
	case *arrow.Date32Type, *arrow.Date64Type:
		if other.ID() == arrow.TIMESTAMP {
			return b.cast(i, &arrow.TimestampType{Unit: unit})
		}
		if isDate(other) && t.ID() != other.ID() {
			return b.cast(i, arrow.FixedWidthTypes.Date64)
		}
	}
	return i
}
