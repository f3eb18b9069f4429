package storage

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/tier"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// parquetFile is an open Parquet file whose footer was read and checked.
type parquetFile struct {
	*input
	meta   *metadata.FileMetaData
	schema *arrow.Schema
	leaves [][]int // of each field: the numbers of its leaf columns
	sum    uint32  // of the footer
}

// parquetTail is the footer's length and the magic bytes.
const parquetTail = 8

// openParquet opens a file and reads its footer, unless that is known.
func openParquet(path string, o ParquetReadOptions) (*parquetFile, error) {
	if err := tier.Refused(); err != nil {
		return nil, &Error{Path: path, Kind: device.ErrUnavailable, Cause: err}
	}
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	if known := readFooters.get(path, in.info); known != nil {
		p := &parquetFile{input: in, meta: known.meta, schema: known.schema, leaves: known.leaves, sum: known.sum}
		return p.with(o), nil
	}
	p, bytes, err := readParquetFooter(in)
	if err != nil {
		in.close()
		return nil, inFile(path, "footer", err, ErrFormat)
	}
	readFooters.put(&footer{path, in.info, bytes, p.meta, p.schema, p.leaves, p.sum})
	return p.with(o), nil
}

// readParquetFooter decodes a file's footer, and says how many bytes that is.
func readParquetFooter(in *input) (p *parquetFile, bytes int64, err error) {
	defer guard(in.path, "footer", &err)
	footer, err := parquetFooterBytes(in)
	if err != nil {
		return nil, 0, err
	}
	sum := crc32.ChecksumIEEE(footer)
	meta, err := metadata.NewFileMetaData(footer, nil)
	if err != nil {
		return nil, 0, err
	}
	meta.SetSourceFileSize(in.size)
	meta.WriterVersion() // computed on first use, and not safe for two goroutines then
	p = &parquetFile{input: in, meta: meta, sum: sum}
	if err := p.check(); err != nil {
		return nil, 0, err
	}
	return p, int64(len(footer)), p.readSchema()
}

// parquetFooterBytes reads the footer and walks it, so that no count in it
// can make the decoder allocate more than a small multiple of its bytes.
func parquetFooterBytes(in *input) ([]byte, error) {
	if in.size == 0 {
		return nil, damaged(in.path, "", "the file is empty")
	}
	if in.size < parquetTail+4 {
		return nil, damaged(in.path, "", "%d bytes are too few for a Parquet file", in.size)
	}
	tail := make([]byte, parquetTail)
	if _, err := in.ReadAt(tail, in.size-parquetTail); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return nil, unsupported(in.path, "", "the footer is encrypted")
	default:
		return nil, damaged(in.path, "", "it does not end as a Parquet file does: truncated, or of another format")
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > in.size-parquetTail-4 {
		return nil, damaged(in.path, "footer", "it should be %d bytes long in a file of %d", n, in.size)
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, in.size-parquetTail-n); err != nil {
		return nil, err
	}
	return footer, filemeta.CheckThrift(footer)
}

// check holds the footer's numbers against the file.
func (p *parquetFile) check() error {
	if p.meta.IsSetEncryptionAlgorithm() {
		return unsupported(p.path, "", "it has encrypted columns")
	}
	rows := int64(0)
	for g := range p.meta.NumRowGroups() {
		rg := p.meta.RowGroup(g)
		part := rowGroup(g)
		if rg.NumRows() < 0 || rg.NumRows() > 1<<48 {
			return damaged(p.path, part, "it should have %d rows", rg.NumRows())
		}
		rows += rg.NumRows()
		if rg.NumColumns() != p.meta.NumColumns() {
			return damaged(p.path, part, "it has %d columns, the schema %d", rg.NumColumns(), p.meta.NumColumns())
		}
		for i := range rg.NumColumns() {
			if err := p.checkChunk(rg, part, i); err != nil {
				return err
			}
		}
	}
	if rows != p.meta.NumRows {
		return damaged(p.path, "footer", "%d rows in all, %d in the row groups", p.meta.NumRows, rows)
	}
	return nil
}

func (p *parquetFile) checkChunk(rg *metadata.RowGroupMetaData, part string, i int) error {
	chunk, err := rg.ColumnChunk(i)
	if err != nil {
		return err
	}
	leaf := p.meta.Schema.Column(i)
	fault := func(format string, args ...any) error {
		err := damaged(p.path, part, format, args...).(*Error)
		err.Name = leaf.Path()
		return err
	}
	if other := chunk.FilePath(); other != "" {
		return unsupported(p.path, leaf.Path(), "its values are in another file, %q", other)
	}
	start, size := chunkSpan(chunk)
	if rg.NumRows() == 0 && size >= 0 && chunk.NumValues() == 0 {
		return nil // some writers give it no pages, and no place; nobody reads it
	}
	if start < 4 || size < 0 || start > p.size-parquetTail || size > p.size-parquetTail-start {
		return fault("%d bytes at offset %d of a file of %d", size, start, p.size)
	}
	if chunk.NumValues() < 0 || leaf.MaxRepetitionLevel() == 0 && chunk.NumValues() != rg.NumRows() {
		return fault("%d values for %d rows", chunk.NumValues(), rg.NumRows())
	}
	if chunk.Type() != leaf.PhysicalType() {
		return fault("stored as %s, the schema says %s", chunk.Type(), leaf.PhysicalType())
	}
	return nil
}

// chunkSpan is where a column chunk begins and how many bytes it takes.
func chunkSpan(c *metadata.ColumnChunkMetaData) (start, size int64) {
	start = c.DataPageOffset()
	if c.HasDictionaryPage() && c.DictionaryPageOffset() > 0 {
		start = min(start, c.DictionaryPageOffset())
	}
	return start, c.TotalCompressedSize()
}

// plain are the fields without the file's own field numbers as metadata.
func plain(fields []arrow.Field) []arrow.Field {
	for i := range fields {
		fields[i].Metadata = arrow.Metadata{}
	}
	return fields
}

func leavesOf(f *pqarrow.SchemaField, to []int) []int {
	if f.IsLeaf() {
		return append(to, f.ColIndex)
	}
	for i := range f.Children {
		to = leavesOf(&f.Children[i], to)
	}
	return to
}

// decoder makes arrow-go's reader of the file for one task. page is the most
// bytes that a page may claim.
func (p *parquetFile) decoder(r *until, a *arena, rows, page int64) (*pqarrow.FileReader, error) {
	props := parquet.NewReaderProperties(a)
	// Pages are read as they are needed and not the whole chunk at once: less
	// memory, and a cancelled context is noticed between pages.
	props.BufferedStreamEnabled = true
	props.BufferSize = 1 << 16
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = p.size, page
	reader, err := file.NewParquetReader(r, file.WithReadProps(props), file.WithMetadata(p.meta))
	if err != nil {
		return nil, err
	}
	// The file is closed by its owner. Parallel stays false: a panic of a
	// goroutine that arrow-go starts could not be caught.
	return pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{BatchSize: rows}, a)
}
