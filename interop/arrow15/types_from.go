package arrow15

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	newendian "github.com/apache/arrow-go/v18/arrow/endian"
	old "github.com/apache/arrow/go/v15/arrow"

	"github.com/volley-go/volley/memory"
)

// fromPlain are the types without parameters.
var fromPlain = map[old.Type]arrow.DataType{
	old.NULL: arrow.Null, old.BOOL: arrow.FixedWidthTypes.Boolean,
	old.INT8: arrow.PrimitiveTypes.Int8, old.INT16: arrow.PrimitiveTypes.Int16,
	old.INT32: arrow.PrimitiveTypes.Int32, old.INT64: arrow.PrimitiveTypes.Int64,
	old.UINT8: arrow.PrimitiveTypes.Uint8, old.UINT16: arrow.PrimitiveTypes.Uint16,
	old.UINT32: arrow.PrimitiveTypes.Uint32, old.UINT64: arrow.PrimitiveTypes.Uint64,
	old.FLOAT16: arrow.FixedWidthTypes.Float16, old.FLOAT32: arrow.PrimitiveTypes.Float32, old.FLOAT64: arrow.PrimitiveTypes.Float64,
	old.STRING: arrow.BinaryTypes.String, old.LARGE_STRING: arrow.BinaryTypes.LargeString,
	old.BINARY: arrow.BinaryTypes.Binary, old.LARGE_BINARY: arrow.BinaryTypes.LargeBinary,
	old.DATE32: arrow.FixedWidthTypes.Date32, old.DATE64: arrow.FixedWidthTypes.Date64,
	old.INTERVAL_MONTHS: arrow.FixedWidthTypes.MonthInterval, old.INTERVAL_DAY_TIME: arrow.FixedWidthTypes.DayTimeInterval,
	old.INTERVAL_MONTH_DAY_NANO: arrow.FixedWidthTypes.MonthDayNanoInterval,
}

// FromType is the v18 type of the same kind and parameters as a v15 type. A
// type that this package does not take is a memory.ErrUnsupported.
func FromType(t old.DataType) (arrow.DataType, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no type given", memory.ErrMismatch)
	}
	if plain, ok := fromPlain[t.ID()]; ok {
		return plain, nil
	}
	switch t := t.(type) {
	case *old.FixedSizeBinaryType:
		return &arrow.FixedSizeBinaryType{ByteWidth: t.ByteWidth}, nil
	case *old.Time32Type:
		return &arrow.Time32Type{Unit: arrow.TimeUnit(t.Unit)}, nil
	case *old.Time64Type:
		return &arrow.Time64Type{Unit: arrow.TimeUnit(t.Unit)}, nil
	case *old.TimestampType:
		return &arrow.TimestampType{Unit: arrow.TimeUnit(t.Unit), TimeZone: t.TimeZone}, nil
	case *old.DurationType:
		return &arrow.DurationType{Unit: arrow.TimeUnit(t.Unit)}, nil
	case *old.Decimal128Type:
		return &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale}, nil
	case *old.Decimal256Type:
		return &arrow.Decimal256Type{Precision: t.Precision, Scale: t.Scale}, nil
	case *old.DictionaryType:
		return fromDictionary(t)
	case *old.StructType:
		fields, err := fromFields(t.Fields())
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(fields...), nil
	case *old.ListType, *old.LargeListType, *old.FixedSizeListType:
		return fromList(t)
	case *old.MapType:
		return fromMap(t)
	}
	return nil, fmt.Errorf("%w: arrays of type %s", memory.ErrUnsupported, t)
}

func fromDictionary(t *old.DictionaryType) (arrow.DataType, error) {
	index, err := FromType(t.IndexType)
	if err != nil {
		return nil, err
	}
	value, err := FromType(t.ValueType)
	if err != nil {
		return nil, err
	}
	return &arrow.DictionaryType{IndexType: index, ValueType: value, Ordered: t.Ordered}, nil
}

func fromList(t old.DataType) (arrow.DataType, error) {
	item, err := fromField(t.(old.ListLikeType).ElemField())
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case *old.LargeListType:
		return arrow.LargeListOfField(item), nil
	case *old.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), item), nil
	default:
		return arrow.ListOfField(item), nil
	}
}

func fromMap(t *old.MapType) (arrow.DataType, error) {
	key, err := fromField(t.KeyField())
	if err != nil {
		return nil, err
	}
	item, err := fromField(t.ItemField())
	if err != nil {
		return nil, err
	}
	m := arrow.MapOfWithMetadata(key.Type, key.Metadata, item.Type, item.Metadata)
	m.SetItemNullable(item.Nullable)
	m.KeysSorted = t.KeysSorted
	return m, nil
}

func fromFields(fields []old.Field) ([]arrow.Field, error) {
	result := make([]arrow.Field, 0, len(fields))
	for _, f := range fields {
		field, err := fromField(f)
		if err != nil {
			return nil, err
		}
		result = append(result, field)
	}
	return result, nil
}

func fromField(f old.Field) (arrow.Field, error) {
	t, err := FromType(f.Type)
	if err != nil {
		return arrow.Field{}, fmt.Errorf("field %q: %w", f.Name, err)
	}
	return arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: fromMetadata(f.Metadata)}, nil
}

func fromMetadata(m old.Metadata) arrow.Metadata {
	if m.Len() == 0 {
		return arrow.Metadata{}
	}
	return arrow.NewMetadata(m.Keys(), m.Values())
}

// FromSchema is the v18 schema with the fields, metadata and byte order of a
// v15 schema.
func FromSchema(s *old.Schema) (result *arrow.Schema, err error) {
	defer recovered(&err)
	if s == nil {
		return nil, fmt.Errorf("%w: no schema given", memory.ErrMismatch)
	}
	fields, err := fromFields(s.Fields())
	if err != nil {
		return nil, err
	}
	metadata := fromMetadata(s.Metadata())
	return arrow.NewSchemaWithEndian(fields, &metadata, newendian.Endianness(s.Endianness())), nil
}
