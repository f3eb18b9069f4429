package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// groupReader makes the batches of one row group. Flat columns it decodes
// itself, all others come from arrow-go, whose record batches then say how many
// rows a batch has.
type groupReader struct {
	file   *parquetFile
	g      int
	from   memory.Allocator
	memory *groupMemory  // of row groups before; nil where there were none
	want   *arrow.Schema // of the batches
	fields []int         // of want, in the file
	emit   func(*table.Batch) error
	most   int64 // bytes of texts of one batch
	seen   int64 // rows emitted

	there  *fetched       // of the row group
	at     int64          // rows read, this time
	flat   []*chunkReader // of want's fields, nil where arrow-go reads
	others *arrow.Schema  // of the fields that it reads
	beside bool           // columns are decoded beside each other

	checked bool // pages that arrow-go reads were held against their checksums
}

// read emits the batches behind those that were emitted, and the whole row
// group where that is the first time.
func (r *groupReader) read(ctx context.Context, size int64) (err error) {
	part := rowGroup(r.g)
	defer guard(r.file.path, part, &err)
	leaves, largest, err := r.open(ctx)
	defer r.close()
	if err != nil {
		return err
	}
	rows := r.file.meta.RowGroup(r.g).NumRows()
	if len(leaves) > 0 {
		return r.besideArrow(ctx, leaves, size, largest)
	}
	for r.at < rows {
		if err := r.batch(ctx, min(size, rows-r.at), make([]*memory.Column, len(r.fields))); err != nil {
			return err
		}
	}
	return nil
}

// open walks all pages and makes the readers of flat columns. It gives the
// other leaf columns and the size of the largest page among these.
func (r *groupReader) open(ctx context.Context) (leaves []int, largest int64, err error) {
	r.at, r.flat = 0, make([]*chunkReader, len(r.fields))
	// Row groups are read beside each other, where there are enough.
	r.beside = len(r.fields) > 1 && r.file.meta.NumRowGroups() < processors.Count()
	var others []arrow.Field
	for k, i := range r.fields {
		field := r.file.schema.Field(i)
		var pages, all []chunkPage // of a leaf, and of all
		for _, leaf := range r.file.leaves[i] {
			chunk, err := r.file.meta.RowGroup(r.g).ColumnChunk(leaf)
			if err != nil {
				return nil, 0, inFile(r.file.path, rowGroup(r.g), err, ErrFormat)
			}
			if pages, err = r.file.pagesOf(ctx, r.there, chunk, rowGroup(r.g), r.file.meta.Schema.Column(leaf).Path()); err != nil {
				return nil, 0, err
			}
			largest = max(largest, largestOf(pages))
			all = append(all, pages...)
		}
		if len(r.file.leaves[i]) == 1 {
			r.flat[k] = r.file.flatChunk(r.from, r.g, r.file.leaves[i][0], field, pages, r.most)
		}
		if r.flat[k] != nil {
			r.flat[k].there = r.there
		}
		if r.flat[k] == nil {
			if err := r.checkPages(ctx, field.Name, all); err != nil {
				return nil, 0, err
			}
			leaves = append(leaves, r.file.leaves[i]...)
			others = append(others, field)
		}
	}
	r.others, r.checked = arrow.NewSchema(others, nil), true
	return leaves, largest, nil
}

// checkPages holds pages that arrow-go decodes against their checksums, which it does not
// look at: of a chunkReader each page is, when it is its turn.
func (r *groupReader) checkPages(ctx context.Context, name string, pages []chunkPage) error {
	var room *memory.Buffer
	defer func() { room.Release() }()
	for i := range pages {
		p := &pages[i]
		if !p.Summed || r.checked {
			continue
		}
		fault := func(err error) error {
			return &Error{Path: r.file.path, Part: rowGroup(r.g), Name: name, Kind: ErrFormat, Text: fmt.Sprintf("page at offset %d", p.body-int64(p.Size)), Cause: err}
		}
		body := r.there.bytes(p.body, p.Compressed)
		if body == nil {
			var err error
			if body, err = roomIn(&room, r.from, p.Compressed); err != nil {
				return inFile(r.file.path, rowGroup(r.g), err, nil)
			}
			if _, err := (&until{ctx: ctx, in: r.file.input}).ReadAt(body, p.body); err != nil {
				if canceled := canceled(ctx, r.file.path); canceled != nil {
					return canceled
				}
				return fault(err)
			}
		}
		if err := p.check(body); err != nil {
			return fault(err)
		}
	}
	return nil
}

func (r *groupReader) close() {
	for _, c := range r.flat {
		if c != nil {
			c.close()
		}
	}
}

// batch decodes the next rows of flat columns and emits them beside the given
// columns, which it takes over.
func (r *groupReader) batch(ctx context.Context, rows int64, columns []*memory.Column) (err error) {
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	if err := canceled(ctx, r.file.path); err != nil {
		return err
	}
	if err := r.decode(ctx, rows, columns); err != nil {
		return err
	}
	r.at += rows
	if old := min(rows, rows-(r.at-r.seen)); old > 0 { // rows that were emitted before
		for k, c := range columns {
			columns[k], err = c.Slice(old, rows-old)
			c.Release()
			if err != nil {
				return err
			}
		}
		rows -= old
	}
	if rows == 0 {
		return nil
	}
	b, err := table.NewBatch(r.want, rows, slices.Clone(columns))
	clear(columns)
	if err != nil {
		return inFile(r.file.path, rowGroup(r.g), err, ErrFormat)
	}
	r.seen = r.at
	return r.emit(b)
}

// decode fills in the flat columns.
func (r *groupReader) decode(ctx context.Context, rows int64, columns []*memory.Column) error {
	faults := make([]error, len(r.flat))
	one := func(k int) {
		defer guard(r.file.path, rowGroup(r.g), &faults[k])
		columns[k], faults[k] = r.flat[k].next(ctx, rows)
	}
	var workers sync.WaitGroup
	for k, c := range r.flat {
		switch {
		case c == nil:
		case r.beside:
			workers.Add(1)
			go func() {
				defer workers.Done()
				one(k)
			}()
		default:
			one(k)
		}
	}
	workers.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// besideArrow reads leaf columns through arrow-go, size rows at a time, and
// the flat ones beside them. It counts rows: a file that was cut in the middle
// of a page may end too early without an error of the decoder.
func (r *groupReader) besideArrow(ctx context.Context, leaves []int, size, page int64) error {
	f, part, rows := r.file, rowGroup(r.g), r.file.meta.RowGroup(r.g).NumRows()
	a := newArena(r.from, largestBlock(f.size))
	defer a.close()
	a.raw = !slices.ContainsFunc(r.others.Fields(), func(field arrow.Field) bool { // whose items may be more than rows, and so their bitmaps longer
		return arrow.IsNested(field.Type.ID())
	})
	records, err := r.records(ctx, a, leaves, size, page)
	if err != nil {
		return r.named(ctx, err, size, page)
	}
	defer records.Release()
	for r.at < rows {
		if err := canceled(ctx, f.path); err != nil {
			return err
		}
		rec, err := r.record(records)
		if err != nil && !errors.Is(err, io.EOF) {
			return r.named(ctx, err, size, page)
		}
		if err != nil || rec.NumRows() == 0 || rec.NumRows() > rows-r.at {
			break
		}
		columns, err := r.given(a, rec)
		if err != nil {
			return inFile(f.path, part, err, ErrFormat)
		}
		if err := r.batch(ctx, rec.NumRows(), columns); err != nil {
			return err
		}
	}
	if r.at != rows {
		return damaged(f.path, part, "its pages do not hold the %d rows that it should have", rows)
	}
	return nil
}

// records is arrow-go's reader of leaf columns.
func (r *groupReader) records(ctx context.Context, a *arena, leaves []int, size, page int64) (_ pqarrow.RecordReader, err error) {
	defer guard(r.file.path, rowGroup(r.g), &err)
	reader, err := r.file.decoder(&until{ctx: ctx, in: r.file.input}, a, size, max(page, 1))
	if err != nil {
		return nil, err
	}
	return reader.GetRecordReader(ctx, leaves, []int{r.g})
}

// record is the next record, or io.EOF.
func (r *groupReader) record(records pqarrow.RecordReader) (_ arrow.RecordBatch, err error) {
	defer guard(r.file.path, rowGroup(r.g), &err)
	return records.Read()
}

// named is an error of arrow-go's with the name of a column: it does not say which of
// several is wrong, so each is tried alone.
func (r *groupReader) named(ctx context.Context, err error, size, page int64) error {
	err = inFile(r.file.path, rowGroup(r.g), decoderError(err), ErrFormat)
	var own *Error
	if !errors.As(err, &own) || own.Name != "" || !errors.Is(err, ErrFormat) && !errors.Is(err, device.ErrUnsupported) {
		return err
	}
	for k, c := range r.flat {
		i := r.fields[k]
		if c != nil || r.others.NumFields() > 1 && !r.fails(ctx, r.file.leaves[i], size, page) {
			continue
		}
		one := *own
		one.Name = r.file.schema.Field(i).Name
		return &one
	}
	return err
}

// fails reports whether leaf columns cannot be read.
func (r *groupReader) fails(ctx context.Context, leaves []int, size, page int64) bool {
	a := newArena(r.from, largestBlock(r.file.size))
	defer a.close()
	records, err := r.records(ctx, a, leaves, size, page)
	if err != nil {
		return true
	}
	defer records.Release()
	for {
		rec, err := r.record(records)
		if err != nil || rec.NumRows() == 0 {
			return err != nil && !errors.Is(err, io.EOF)
		}
	}
}

// given are the columns of a record at the places of their fields.
func (r *groupReader) given(a *arena, rec arrow.RecordBatch) ([]*memory.Column, error) {
	b, err := batchOf(a, r.others, rec)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	columns, at := make([]*memory.Column, len(r.fields)), 0
	for k, c := range r.flat {
		if c == nil {
			columns[k] = b.Column(at).Retain()
			at++
		}
	}
	return columns, nil
}
