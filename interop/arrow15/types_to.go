package arrow15

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	old "github.com/apache/arrow/go/v15/arrow"
	oldendian "github.com/apache/arrow/go/v15/arrow/endian"

	"github.com/volley-go/volley/memory"
)

// toPlain are the types without parameters.
var toPlain = map[arrow.Type]old.DataType{
	arrow.NULL: old.Null, arrow.BOOL: old.FixedWidthTypes.Boolean,
	arrow.INT8: old.PrimitiveTypes.Int8, arrow.INT16: old.PrimitiveTypes.Int16,
	arrow.INT32: old.PrimitiveTypes.Int32, arrow.INT64: old.PrimitiveTypes.Int64,
	arrow.UINT8: old.PrimitiveTypes.Uint8, arrow.UINT16: old.PrimitiveTypes.Uint16,
	arrow.UINT32: old.PrimitiveTypes.Uint32, arrow.UINT64: old.PrimitiveTypes.Uint64,
	arrow.FLOAT16: old.FixedWidthTypes.Float16, arrow.FLOAT32: old.PrimitiveTypes.Float32, arrow.FLOAT64: old.PrimitiveTypes.Float64,
	arrow.STRING: old.BinaryTypes.String, arrow.LARGE_STRING: old.BinaryTypes.LargeString,
	arrow.BINARY: old.BinaryTypes.Binary, arrow.LARGE_BINARY: old.BinaryTypes.LargeBinary,
	arrow.DATE32: old.FixedWidthTypes.Date32, arrow.DATE64: old.FixedWidthTypes.Date64,
	arrow.INTERVAL_MONTHS: old.FixedWidthTypes.MonthInterval, arrow.INTERVAL_DAY_TIME: old.FixedWidthTypes.DayTimeInterval,
	arrow.INTERVAL_MONTH_DAY_NANO: old.FixedWidthTypes.MonthDayNanoInterval,
}

// ToType is the v15 type of the same kind and parameters as a v18 type. A
// type that this package does not take is a memory.ErrUnsupported.
func ToType(t arrow.DataType) (old.DataType, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no type given", memory.ErrMismatch)
	}
	if plain, ok := toPlain[t.ID()]; ok {
		return plain, nil
	}
	switch t := t.(type) {
	case *arrow.FixedSizeBinaryType:
		return &old.FixedSizeBinaryType{ByteWidth: t.ByteWidth}, nil
	case *arrow.Time32Type:
		return &old.Time32Type{Unit: old.TimeUnit(t.Unit)}, nil
	case *arrow.Time64Type:
		return &old.Time64Type{Unit: old.TimeUnit(t.Unit)}, nil
	case *arrow.TimestampType:
		return &old.TimestampType{Unit: old.TimeUnit(t.Unit), TimeZone: t.TimeZone}, nil
	case *arrow.DurationType:
		return &old.DurationType{Unit: old.TimeUnit(t.Unit)}, nil
	case *arrow.Decimal128Type:
		return &old.Decimal128Type{Precision: t.Precision, Scale: t.Scale}, nil
	case *arrow.Decimal256Type:
		return &old.Decimal256Type{Precision: t.Precision, Scale: t.Scale}, nil
	case *arrow.DictionaryType:
		return toDictionary(t)
	case *arrow.StructType:
		fields, err := toFields(t.Fields())
		if err != nil {
			return nil, err
		}
		return old.StructOf(fields...), nil
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return toList(t)
	case *arrow.MapType:
		return toMap(t)
	}
	return nil, fmt.Errorf("%w: arrays of type %s", memory.ErrUnsupported, t)
}

func toDictionary(t *arrow.DictionaryType) (old.DataType, error) {
	index, err := ToType(t.IndexType)
	if err != nil {
		return nil, err
	}
	value, err := ToType(t.ValueType)
	if err != nil {
		return nil, err
	}
	return &old.DictionaryType{IndexType: index, ValueType: value, Ordered: t.Ordered}, nil
}

func toList(t arrow.DataType) (old.DataType, error) {
	item, err := toField(t.(arrow.ListLikeType).ElemField())
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case *arrow.LargeListType:
		return old.LargeListOfField(item), nil
	case *arrow.FixedSizeListType:
		return old.FixedSizeListOfField(t.Len(), item), nil
	default:
		return old.ListOfField(item), nil
	}
}

func toMap(t *arrow.MapType) (old.DataType, error) {
	key, err := toField(t.KeyField())
	if err != nil {
		return nil, err
	}
	item, err := toField(t.ItemField())
	if err != nil {
		return nil, err
	}
	m := old.MapOfWithMetadata(key.Type, key.Metadata, item.Type, item.Metadata)
	m.SetItemNullable(item.Nullable)
	m.KeysSorted = t.KeysSorted
	return m, nil
}

func toFields(fields []arrow.Field) ([]old.Field, error) {
	result := make([]old.Field, 0, len(fields))
	for _, f := range fields {
		field, err := toField(f)
		if err != nil {
			return nil, err
		}
		result = append(result, field)
	}
	return result, nil
}

func toField(f arrow.Field) (old.Field, error) {
	t, err := ToType(f.Type)
	if err != nil {
		return old.Field{}, fmt.Errorf("field %q: %w", f.Name, err)
	}
	return old.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: toMetadata(f.Metadata)}, nil
}

func toMetadata(m arrow.Metadata) old.Metadata {
	if m.Len() == 0 {
		return old.Metadata{}
	}
	return old.NewMetadata(m.Keys(), m.Values())
}

// ToSchema is the v15 schema with the fields, metadata and byte order of a
// v18 schema.
func ToSchema(s *arrow.Schema) (result *old.Schema, err error) {
	defer recovered(&err)
	if s == nil {
		return nil, fmt.Errorf("%w: no schema given", memory.ErrMismatch)
	}
	fields, err := toFields(s.Fields())
	if err != nil {
		return nil, err
	}
	metadata := toMetadata(s.Metadata())
	return old.NewSchemaWithEndian(fields, &metadata, oldendian.Endianness(s.Endianness())), nil
}
