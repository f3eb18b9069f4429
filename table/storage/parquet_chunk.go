package storage

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/volley-go/volley/memory"
)

// The numbers that parquet.thrift gives to pages and encodings.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3

	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDeltaBinary     = 5
	encodingDeltaLengths    = 6
	encodingDeltaBytes      = 7
	encodingDictionary      = 8
)

// chunkReader decodes a flat column chunk, some rows at a time: what arrow-go
// does value by value it does a run at a time, into the buffers that stay.
type chunkReader struct {
	file     *parquetFile
	part     string // for errors
	name     string
	from     memory.Allocator
	typ      arrow.DataType
	optional bool
	codec    compress.Codec // nil where pages are not compressed
	values   flatValues
	stored   parquet.Type
	width    int                            // of fixed bytes
	plainly  func(b []byte) ([]byte, error) // makes stored values what values takes as plain ones; nil where they are
	deltas   []byte                         // a page that was written in differences, plain

	row    int64       // of the row group, that comes next
	pages  []chunkPage // yet to decode
	at     int64       // offset in the file of the one at hand
	packed *memory.Buffer
	page   *memory.Buffer
	there  *fetched             // of the row group
	raw    *memory.Buffer       // of there, where that is this column's alone
	order  []int32              // ordinals of chosen values among those that are there
	bits   memory.Bitmap        // scratch
	into   func(n int64) []byte // gives room for pages of data that are to stay, nil where each may overwrite the one before
	left   int64                // rows of it yet to take
	levels hybrid               // of it, where optional
	body   pageValues
	dict   bool // there was a dictionary
}

// flatChunk is the reader of a leaf column as a flat one, or nil where
// arrow-go is to read it: types whose values are not what is stored, and
// encodings other than plain ones and dictionaries. most is how many bytes of
// texts a batch may have.
func (f *parquetFile) flatChunk(from memory.Allocator, g, leaf int, field arrow.Field, pages []chunkPage, most int64) *chunkReader {
	column := f.meta.Schema.Column(leaf)
	chunk, err := f.meta.RowGroup(g).ColumnChunk(leaf)
	if err != nil || column.MaxRepetitionLevel() != 0 || column.MaxDefinitionLevel() > 1 {
		return nil
	}
	for i := range pages {
		if !flatPage(&pages[i], i, chunk.Type()) {
			return nil
		}
	}
	c := &chunkReader{file: f, part: rowGroup(g), name: column.Path(), from: from, typ: field.Type, pages: pages,
		optional: column.MaxDefinitionLevel() == 1, values: flatValuesOf(from, chunk, field.Type, most), stored: chunk.Type(), width: column.TypeLength()}
	if c.values == nil {
		c.values, c.plainly = c.convertedValues(field.Type, most)
	}
	if c.values == nil {
		return nil
	}
	if chunk.Compression() != compress.Codecs.Uncompressed {
		if c.codec, err = compress.GetCodec(chunk.Compression()); err != nil {
			return nil
		}
	}
	return c
}

// flatPage reports whether a chunkReader decodes page i of a chunk of a stored type.
func flatPage(p *chunkPage, i int, stored parquet.Type) bool {
	switch p.Kind {
	case pageIndex:
		return true
	case pageDictionary:
		return i == 0 && (p.Encoding == encodingPlain || p.Encoding == encodingPlainDictionary)
	case pageData:
		if p.LevelEncoding != encodingRLE {
			return false
		}
	case pageDataV2:
		if p.Repeats != 0 {
			return false
		}
	default:
		return false
	}
	switch p.Encoding {
	case encodingPlain, encodingPlainDictionary, encodingDictionary, encodingRLE:
		return true
	case encodingDeltaBinary:
		return stored == parquet.Types.Int32 || stored == parquet.Types.Int64
	case encodingDeltaLengths:
		return stored == parquet.Types.ByteArray
	case encodingDeltaBytes:
		return stored == parquet.Types.ByteArray || stored == parquet.Types.FixedLenByteArray
	}
	return false
}

// flatValuesOf is how values of an Arrow type are put together from those of
// the chunk's type, nil where they are not the same bits.
func flatValuesOf(from memory.Allocator, chunk *metadata.ColumnChunkMetaData, t arrow.DataType, most int64) flatValues {
	id := t.ID()
	switch chunk.Type() {
	case parquet.Types.Boolean:
		if id == arrow.BOOL {
			return &boolValues{from: from}
		}
	case parquet.Types.Int32:
		switch id {
		case arrow.INT8, arrow.UINT8:
			return newFixed[uint8](from, 4, 1)
		case arrow.INT16, arrow.UINT16:
			return newFixed[uint16](from, 4, 2)
		case arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32:
			return newFixed[uint32](from, 4, 4)
		}
	case parquet.Types.Int64:
		u, timed := t.(arrow.TemporalWithUnit)
		if id == arrow.INT64 || id == arrow.UINT64 || id == arrow.DURATION || (id == arrow.TIME64 || id == arrow.TIMESTAMP) && timed && u.TimeUnit() != arrow.Second {
			return newFixed[uint64](from, 8, 8)
		}
	case parquet.Types.Float:
		if id == arrow.FLOAT32 {
			return newFixed[uint32](from, 4, 4)
		}
	case parquet.Types.Double:
		if id == arrow.FLOAT64 {
			return newFixed[uint64](from, 8, 8)
		}
	case parquet.Types.ByteArray:
		switch id {
		case arrow.STRING, arrow.BINARY:
			return &textValues[int32]{from: from, wide: 4, most: min(most, math.MaxInt32), texts: id == arrow.STRING}
		case arrow.LARGE_STRING, arrow.LARGE_BINARY:
			return &textValues[int64]{from: from, wide: 8, most: most, texts: id == arrow.LARGE_STRING}
		}
	}
	return nil
}

// fault is the error of the page at hand.
func (c *chunkReader) fault(err error) error {
	var own *Error
	if errors.As(err, &own) || errors.Is(err, errLongTexts) {
		return err
	}
	if errors.Is(err, memory.ErrOutOfMemory) {
		return inFile(c.file.path, c.part, err, nil)
	}
	return &Error{Path: c.file.path, Part: c.part, Name: c.name, Kind: ErrFormat, Text: fmt.Sprintf("page at offset %d", c.at), Cause: err}
}

// next is the column of the next rows, as many as that.
func (c *chunkReader) next(ctx context.Context, rows int64) (_ *memory.Column, err error) {
	var bitmap *memory.Buffer
	defer func() {
		bitmap.Release()
	}()
	if c.optional {
		if bitmap, err = memory.NewZeroed(c.from, memory.BitmapBytes(rows)); err != nil {
			return nil, c.fault(err)
		}
	}
	if err := c.values.begin(rows); err != nil {
		return nil, c.fault(err)
	}
	nulls := int64(0)
	for at := int64(0); at < rows; {
		if c.left == 0 {
			if err := c.turn(ctx); err != nil {
				return nil, c.fault(err)
			}
			continue
		}
		k := min(c.left, rows-at)
		present := k
		var valid memory.Bitmap
		if c.optional {
			valid = bitmap.Bytes()
			if present, err = c.levels.bits(valid, at, k); err != nil {
				return nil, c.fault(fmt.Errorf("definition levels: %w", err))
			}
		}
		if err := c.values.take(&c.body, at, k, present, valid); err != nil {
			return nil, c.fault(err)
		}
		nulls += k - present
		c.left, at, c.row = c.left-k, at+k, c.row+k
	}
	return c.column(rows, nulls, &bitmap)
}

func (c *chunkReader) column(rows, nulls int64, bitmap **memory.Buffer) (*memory.Column, error) {
	buffers, err := c.values.end(rows)
	if err != nil {
		return nil, c.fault(err)
	}
	parts := memory.Parts{Type: c.typ, Len: rows, Nulls: nulls, Place: memory.Host, Buffers: append([]*memory.Buffer{nil}, buffers...)}
	if nulls > 0 {
		parts.Buffers[0], *bitmap = *bitmap, nil
	}
	column, err := memory.NewColumn(parts)
	if err == nil && c.values.unchecked() {
		if err = validText(column); err != nil {
			column.Release()
		}
	}
	if err != nil {
		return nil, c.fault(fmt.Errorf("column %q: %w", c.name, err))
	}
	return column, nil
}

func (c *chunkReader) close() {
	c.values.close()
	c.packed.Release()
	c.page.Release()
	c.raw.Release()
	c.packed, c.page, c.raw = nil, nil, nil
}
