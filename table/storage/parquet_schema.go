package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// storedSchema is the Arrow schema that a writer may have put into the footer: an
// IPC message in base64, which the decoder trusts, and which is therefore walked
// first. It is nil where there is none.
func (p *parquetFile) storedSchema() (message []byte, err error) {
	stored := p.meta.KeyValueMetadata().FindValue("ARROW:schema")
	if stored == nil {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(*stored)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(*stored)
	}
	if err == nil && len(b) > 8 && binary.LittleEndian.Uint32(b) == 0xFFFFFFFF {
		b = b[4:]
	}
	if err == nil && len(b) > 4 {
		n := int64(binary.LittleEndian.Uint32(b))
		b = b[4:]
		b = b[:min(n, int64(len(b)))]
		if kind, body, ok := filemeta.CheckMessage(b); ok && kind == filemeta.KindSchema && body == 0 {
			return b, nil
		}
	}
	return nil, damaged(p.path, "footer", "the Arrow schema in it is damaged")
}

// settleSchema puts types into the stored schema that the file's values have: arrow-go
// takes the zone of a timestamp from it only where the units agree, and the type
// of a dictionary's indices though the file may have more values than that numbers.
func (p *parquetFile) settleSchema() error {
	message, err := p.storedSchema()
	if message == nil || err != nil {
		return err
	}
	feed, err := newFeed(newArena(memory.Heap, int64(len(message))+1), message)
	if err != nil {
		return damaged(p.path, "footer", "the Arrow schema in it is damaged")
	}
	defer feed.close()
	stored := feed.reader.Schema()
	own, err := pqarrow.FromParquet(p.meta.Schema, &pqarrow.ArrowReadProperties{}, nil)
	if err != nil {
		return err
	}
	fields, changed := agreed(stored.Fields(), own.Fields(), false)
	if !changed {
		return nil
	}
	meta := stored.Metadata()
	var out bytes.Buffer
	if err := ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema(fields, &meta))).Close(); err != nil {
		return err
	}
	*p.meta.KeyValueMetadata().FindValue("ARROW:schema") = base64.StdEncoding.EncodeToString(out.Bytes())
	return nil
}

// agreed are stored fields with the types of those in the file where these decide.
func agreed(stored, inFile []arrow.Field, nested bool) (fields []arrow.Field, changed bool) {
	if len(stored) != len(inFile) {
		return stored, false // of which arrow-go takes nothing either
	}
	fields = append(fields, stored...)
	for i := range fields {
		t := agreedType(stored[i].Type, inFile[i].Type, nested)
		if t != nil {
			fields[i].Type, changed = t, true
		}
	}
	return fields, changed
}

// agreedType is nil where the stored type stays.
func agreedType(stored, inFile arrow.DataType, nested bool) arrow.DataType {
	switch t := stored.(type) {
	case *arrow.TimestampType:
		if f, is := inFile.(*arrow.TimestampType); is && f.Unit != t.Unit {
			return &arrow.TimestampType{Unit: f.Unit, TimeZone: t.TimeZone}
		}
	case *arrow.DictionaryType:
		if nested { // arrow-go fails over lists none of which has an item of these
			if v := agreedType(t.ValueType, inFile, true); v != nil {
				return v
			}
			return t.ValueType
		}
		if t.IndexType.(arrow.FixedWidthDataType).BitWidth() < 32 {
			return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: t.ValueType, Ordered: t.Ordered}
		}
	case *arrow.StructType:
		if f, is := inFile.(*arrow.StructType); is {
			if fields, changed := agreed(t.Fields(), f.Fields(), true); changed {
				return arrow.StructOf(fields...)
			}
		}
	case arrow.ListLikeType:
		if f, is := inFile.(arrow.ListLikeType); is {
			if items, changed := agreed([]arrow.Field{t.ElemField()}, []arrow.Field{f.ElemField()}, true); changed {
				return listOf(t, items[0])
			}
		}
	}
	return nil
}

// listOf is a list type like t of other items.
func listOf(t arrow.ListLikeType, item arrow.Field) arrow.DataType {
	switch t := t.(type) {
	case *arrow.LargeListType:
		return arrow.LargeListOfField(item)
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), item)
	case *arrow.ListType:
		return arrow.ListOfField(item)
	}
	return nil
}

// readSchema finds the Arrow fields, and of each the leaf columns.
func (p *parquetFile) readSchema() error {
	if err := p.settleSchema(); err != nil {
		return err
	}
	reader, err := p.decoder(&until{in: p.input}, newArena(memory.Heap, 0), 0, 0)
	if err != nil {
		return err
	}
	p.schema, err = reader.Schema()
	if err != nil {
		return err
	}
	if len(reader.Manifest.Fields) != p.schema.NumFields() {
		return damaged(p.path, "footer", "%d fields for a schema of %d", len(reader.Manifest.Fields), p.schema.NumFields())
	}
	if err := distinctNames(p.path, p.schema); err != nil {
		return err
	}
	fields := plain(p.schema.Fields())
	for i, f := range fields {
		if e, is := f.Type.(arrow.ExtensionType); is && e.ExtensionName() == "arrow.uuid" {
			fields[i].Type = e.StorageType() // bytes, as all of a fixed size
		}
	}
	// Metadata of the stored schema (pandas' index and the like) does not apply
	// to a part of its columns.
	p.schema = memory.HeldSchema(arrow.NewSchema(fields, nil))
	for i := range reader.Manifest.Fields {
		p.leaves = append(p.leaves, leavesOf(&reader.Manifest.Fields[i], nil))
	}
	p.settle96()
	return nil
}

// settle96 has timestamps of 96 bits, which are instants by the writers that know zones
// and local times by the others, with the zone of the stored schema if there is one.
func (p *parquetFile) settle96() {
	fields := p.schema.Fields()
	var stored *arrow.Schema
	if message, err := p.storedSchema(); err == nil && message != nil {
		if feed, err := newFeed(newArena(memory.Heap, int64(len(message))+1), message); err == nil {
			stored = feed.reader.Schema()
			feed.close()
		}
	}
	for i := range fields {
		if !p.is96(i) {
			continue
		}
		t := &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
		if stored != nil && i < stored.NumFields() {
			if s, is := stored.Field(i).Type.(*arrow.TimestampType); is {
				t.TimeZone = s.TimeZone
			}
		}
		fields[i].Type = t
	}
	p.schema = arrow.NewSchema(fields, nil)
}

// is96 reports whether field i is a column of timestamps of 96 bits.
func (p *parquetFile) is96(i int) bool {
	leaves := p.leaves[i]
	return len(leaves) == 1 && p.schema.Field(i).Type.ID() == arrow.TIMESTAMP && p.meta.Schema.Column(leaves[0]).PhysicalType() == parquet.Types.Int96
}
