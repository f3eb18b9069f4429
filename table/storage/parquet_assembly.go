package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// parquetMark is what a Parquet file begins and ends with.
const parquetMark = "PAR1"

// encodedRows is how many rows are encoded between two looks at the context.
const encodedRows = 1 << 14

// parquetColumn is one column of one row group, encoded: a Parquet file of its
// own, of which parquetAssembly takes the pages and their description.
type parquetColumn struct {
	field int
	rows  int64
	data  bytes.Buffer
	meta  *metadata.FileMetaData
}

// encode writes the values.
func (p *parquetColumn) encode(ctx context.Context, s *parquetSink, parts []arrow.Array) (err error) {
	props := parquet.NewWriterProperties(append(s.props[:len(s.props):len(s.props)], parquet.WithDictionaryDefault(worthDictionary(parts, p.rows)))...)
	w, err := pqarrow.NewFileWriter(s.fields[p.field], &p.data, props, pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(s.a)))
	if err != nil {
		return err
	}
	for _, a := range parts {
		for at := 0; at < a.Len(); at += encodedRows {
			if err := canceled(ctx, s.encoders.path); err != nil {
				return err
			}
			if err := p.part(w, s, a, int64(at), int64(min(at+encodedRows, a.Len()))); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	p.meta, err = w.FileMetadata()
	return err
}

// part encodes the values [from, to) of an array.
func (p *parquetColumn) part(w *pqarrow.FileWriter, s *parquetSink, a arrow.Array, from, to int64) error {
	whole := recordOfOne(s.fields[p.field], a)
	defer whole.Release()
	rec := whole.NewSlice(from, to)
	defer rec.Release()
	dense, err := denseRecord(rec, s.a)
	if err != nil {
		return err
	}
	defer dense.Release()
	return w.WriteBuffered(dense)
}

// parquetAssembly puts encoded columns together to a file.
type parquetAssembly struct {
	w    io.Writer
	at   int64                  // in the file
	meta *metadata.FileMetaData // of what was put
	cols int
}

// newParquetAssembly begins a file.
func newParquetAssembly(w io.Writer, schema *arrow.Schema, props []parquet.WriterProperty, a *arena) (*parquetAssembly, error) {
	var empty bytes.Buffer // a file without rows has what all of them share
	f, err := pqarrow.NewFileWriter(schema, &empty, parquet.NewWriterProperties(props...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema(), pqarrow.WithAllocator(a)))
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	meta, err := f.FileMetadata()
	if err != nil {
		return nil, err
	}
	p := &parquetAssembly{w: w, meta: meta, cols: schema.NumFields()}
	return p, p.write([]byte(parquetMark))
}

func (p *parquetAssembly) write(b []byte) error {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return err
}

// put adds the next column: the first of a row group, or one behind that before
// it.
func (p *parquetAssembly) put(c *parquetColumn) error {
	groups := c.meta.GetRowGroups()
	if len(groups) != 1 || groups[0].NumRows != c.rows {
		return fmt.Errorf("internal error: column %d of %d rows was encoded as %d row groups", c.field, c.rows, len(groups))
	}
	group := groups[0]
	shift := p.at - int64(len(parquetMark))
	end := int64(len(parquetMark))
	for _, chunk := range group.Columns {
		m := chunk.MetaData
		start := m.DataPageOffset
		if m.DictionaryPageOffset != nil {
			start = min(start, *m.DictionaryPageOffset)
			*m.DictionaryPageOffset += shift
		}
		end = max(end, start+m.TotalCompressedSize)
		m.DataPageOffset += shift
		if chunk.FileOffset > 0 {
			chunk.FileOffset += shift
		}
	}
	data := c.data.Bytes()
	if end > int64(len(data)) {
		return fmt.Errorf("internal error: column %d ends at byte %d of %d", c.field, end, len(data))
	}
	offset := p.at
	if err := p.write(data[len(parquetMark):end]); err != nil {
		return err
	}
	if c.field > 0 {
		last := p.meta.RowGroups[len(p.meta.RowGroups)-1]
		last.Columns = append(last.Columns, group.Columns...)
		last.TotalByteSize += group.TotalByteSize
		if last.TotalCompressedSize != nil && group.TotalCompressedSize != nil {
			*last.TotalCompressedSize += *group.TotalCompressedSize
		}
		return nil
	}
	if group.FileOffset != nil {
		*group.FileOffset = offset
	}
	if group.Ordinal != nil {
		*group.Ordinal = int16(len(p.meta.RowGroups))
		if len(p.meta.RowGroups) > math.MaxInt16 {
			group.Ordinal = nil
		}
	}
	p.meta.RowGroups = append(p.meta.RowGroups, group)
	p.meta.NumRows += group.NumRows
	return nil
}

// close writes the footer.
func (p *parquetAssembly) close() error {
	n, err := p.meta.WriteTo(p.w, nil)
	if err != nil {
		return err
	}
	return p.write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), parquetMark...))
}

const (
	// sampledRows is how many values a dictionary is judged by. Of 131,072 values,
	// the most that a dictionary of int64 has, 4096 drawn meet each other 64 times.
	sampledRows = 1 << 12
	// dictionaryBytes is how large arrow-go lets a dictionary become before it
	// gives it up.
	dictionaryBytes = 1 << 20
)

// worthDictionary guesses from a sample whether values repeat enough for a
// dictionary. One that is given up when it is too large costs several times what
// it takes to write the values as they are. The sample depends on nothing but
// the values.
func worthDictionary(parts []arrow.Array, rows int64) bool {
	if rows < 4*sampledRows {
		return true
	}
	hashes := make([]func(i int) (hash uint64, bytes int), len(parts))
	ends := make([]int64, len(parts))
	end := int64(0)
	for k, a := range parts {
		if hashes[k] = hasher(a); hashes[k] == nil {
			return true
		}
		end += int64(a.Len())
		ends[k] = end
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make(map[uint64]bool, sampledRows)
	values, bytes := 0, 0
	for range sampledRows {
		row := rng.Int64N(rows)
		k := sort.Search(len(ends), func(k int) bool { return ends[k] > row })
		i := int(row - (ends[k] - int64(parts[k].Len())))
		if parts[k].IsNull(i) {
			continue
		}
		h, n := hashes[k](i)
		seen[h] = true
		values++
		bytes += n
	}
	met := values - len(seen)
	if met == 0 {
		return values < 64 // too few values to know
	}
	distinct := float64(values) * float64(values) / float64(2*met)
	return distinct*float64(bytes)/float64(values) <= dictionaryBytes && distinct <= float64(rows)*3/4
}

// hasher gives a hash and the size of a value, or nil for types whose
// dictionaries cost little.
func hasher(a arrow.Array) func(i int) (uint64, int) {
	switch a := a.(type) {
	case *array.String:
		return func(i int) (uint64, int) { return textHash(a.Value(i)), len(a.Value(i)) + 4 }
	case *array.LargeString:
		return func(i int) (uint64, int) { return textHash(a.Value(i)), len(a.Value(i)) + 4 }
	case *array.Binary:
		return func(i int) (uint64, int) { return textHash(string(a.Value(i))), len(a.Value(i)) + 4 }
	case *array.LargeBinary:
		return func(i int) (uint64, int) { return textHash(string(a.Value(i))), len(a.Value(i)) + 4 }
	}
	t, fixed := a.DataType().(arrow.FixedWidthDataType)
	if !fixed || a.DataType().ID() == arrow.DICTIONARY || t.BitWidth() < 32 || t.BitWidth()%8 != 0 || len(a.Data().Buffers()) != 2 {
		return nil
	}
	width := t.BitWidth() / 8
	bytes := a.Data().Buffers()[1].Bytes()[a.Data().Offset()*width:]
	return func(i int) (uint64, int) { return textHash(string(bytes[i*width : (i+1)*width])), width }
}

// textHash is FNV-1a of 64 bits.
func textHash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
