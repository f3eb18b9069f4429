package expr

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// typeNames are the types without parameters, and other names for them.
var typeNames = map[string]arrow.DataType{
	"null": arrow.Null, "bool": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"float16": arrow.FixedWidthTypes.Float16, "float32": arrow.PrimitiveTypes.Float32, "float64": arrow.PrimitiveTypes.Float64,
	"utf8": arrow.BinaryTypes.String, "large_utf8": arrow.BinaryTypes.LargeString,
	"binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary,
	"date32": arrow.FixedWidthTypes.Date32, "date64": arrow.FixedWidthTypes.Date64,

	"boolean": arrow.FixedWidthTypes.Boolean, "tinyint": arrow.PrimitiveTypes.Int8,
	"smallint": arrow.PrimitiveTypes.Int16, "int": arrow.PrimitiveTypes.Int32,
	"integer": arrow.PrimitiveTypes.Int32, "bigint": arrow.PrimitiveTypes.Int64,
	"real": arrow.PrimitiveTypes.Float32, "float": arrow.PrimitiveTypes.Float32,
	"double": arrow.PrimitiveTypes.Float64, "string": arrow.BinaryTypes.String,
	"varchar": arrow.BinaryTypes.String, "text": arrow.BinaryTypes.String,
	"date": arrow.FixedWidthTypes.Date32, "timestamp": &arrow.TimestampType{Unit: arrow.Microsecond},
	"time": arrow.FixedWidthTypes.Time64us, "duration": arrow.FixedWidthTypes.Duration_us,
}

// unitNames are the units of times.
var unitNames = map[string]arrow.TimeUnit{
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// isTypeName reports whether name begins the name of a type.
func isTypeName(name string) bool {
	name = strings.ToLower(name)
	if _, ok := typeNames[name]; ok {
		return true
	}
	switch name {
	case "time32", "time64", "decimal", "decimal128", "numeric", "dictionary":
		return true
	}
	return false
}

// TypeName is a type as cast(x as …) takes it: "int64", "timestamp[us, tz=UTC]",
// "decimal(10, 2)". Types that no expression casts to have Arrow's own name.
func TypeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return fmt.Sprintf("timestamp[%s]", t.Unit)
		}
		return fmt.Sprintf("timestamp[%s, tz=%s]", t.Unit, zoneText(t.TimeZone))
	case *arrow.Time32Type:
		return fmt.Sprintf("time32[%s]", t.Unit)
	case *arrow.Time64Type:
		return fmt.Sprintf("time64[%s]", t.Unit)
	case *arrow.DurationType:
		return fmt.Sprintf("duration[%s]", t.Unit)
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal(%d, %d)", t.Precision, t.Scale)
	case *arrow.DictionaryType:
		return fmt.Sprintf("dictionary(%s, %s)", TypeName(t.IndexType), TypeName(t.ValueType))
	case nil:
		return "no type"
	default:
		return t.Name()
	}
}

// zoneText is a time zone bare, or quoted where that would not read back.
func zoneText(zone string) string {
	for _, r := range zone {
		if r != '_' && r != '/' && r != '+' && r != '-' && r != ':' &&
			(r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return quoteText(zone)
		}
	}
	return zone
}
