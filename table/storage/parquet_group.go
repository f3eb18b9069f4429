package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// groupReader makes the batches of rows of one row group. Flat columns it decodes itself, each
// opened when a value of it is wanted first; where there are others arrow-go reads these
// beside them: see groupBeside.
type groupReader struct {
	file    *parquetFile
	g       int
	from    memory.Allocator
	memory  *groupMemory          // of row groups before; nil where there were none
	want    *arrow.Schema         // of the batches
	fields  []int                 // in the file: of want, and then those that only the filter reads
	filter  *scanFilter           // nil where all rows are given
	stated  map[string]expr.Range // of columns by whose statistics the row group might have been left out
	at, end int64                 // rows to read; 0 as the end is that of the row group
	there   *fetched              // of the row group
	most    int64                 // bytes of texts of one batch
	emit    func(*table.Batch) error

	flat    []*chunkReader // of fields, nil where it is not open or arrow-go reads
	beside  *groupBeside   // nil where all columns are flat
	work    groupFilter
	checked bool // pages that arrow-go reads were held against their checksums
}

// errNotFlat says that a column is not one that a chunkReader reads.
var errNotFlat = errors.New("not a flat column")

// read emits the batches behind those that were emitted.
func (r *groupReader) read(ctx context.Context, size int64) error {
	defer r.close()
	for {
		b, err := r.next(ctx, size)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = r.emit(b)
		}
		if err != nil {
			return err
		}
	}
}

// next is the next batch of at most size rows, or io.EOF. After errLongTexts it may be
// called with another size.
func (r *groupReader) next(ctx context.Context, size int64) (b *table.Batch, err error) {
	defer func() {
		if err != nil {
			r.close() // some columns are ahead of others
		}
	}()
	defer guard(r.file.path, rowGroup(r.g), &err)
	if r.end == 0 {
		r.end = r.file.meta.RowGroup(r.g).NumRows()
	}
	for b == nil {
		if r.at >= r.end {
			return nil, io.EOF
		}
		if err := canceled(ctx, r.file.path); err != nil {
			return nil, err
		}
		if b, err = r.rows(ctx, size); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// rows is the batch of the next rows, nil if none of them passes the filter.
func (r *groupReader) rows(ctx context.Context, size int64) (*table.Batch, error) {
	if r.flat == nil {
		r.flat = make([]*chunkReader, len(r.fields))
		for _, i := range r.fields {
			if !r.file.likelyFlat(r.g, i) {
				r.beside = &groupBeside{groupReader: r}
			}
		}
	}
	if r.beside == nil {
		b, err := r.flatRows(ctx, min(size, r.end-r.at))
		if !errors.Is(err, errNotFlat) {
			return b, err
		}
		r.close()
		r.flat = make([]*chunkReader, len(r.fields))
		r.beside = &groupBeside{groupReader: r}
	}
	return r.beside.rows(ctx, size)
}

// flatRows is rows of flat columns.
func (r *groupReader) flatRows(ctx context.Context, n int64) (*table.Batch, error) {
	kept, err := r.filterRows(ctx, r.at, n)
	if err != nil {
		return nil, err
	}
	defer r.work.clear()
	if kept == 0 {
		r.at += n
		return nil, nil
	}
	columns := make([]*memory.Column, 0, r.want.NumFields())
	for k := range r.want.NumFields() {
		c, err := r.column(ctx, k, n, kept)
		if err != nil {
			releaseAll(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	r.at += n
	return r.batchOf(kept, columns)
}

// batchOf is columns, which it takes over, as a batch.
func (r *groupReader) batchOf(rows int64, columns []*memory.Column) (*table.Batch, error) {
	b, err := table.NewBatch(r.want, rows, columns)
	return b, inFile(r.file.path, rowGroup(r.g), err, ErrFormat)
}

// column is field k of the next n rows, of which kept pass the filter.
func (r *groupReader) column(ctx context.Context, k int, n, kept int64) (*memory.Column, error) {
	if c, done, err := r.filtered(ctx, k, n, kept); done || err != nil {
		return c, err
	}
	c, err := r.opened(ctx, k)
	if err != nil {
		return nil, err
	}
	var out *memory.Column
	if kept == n {
		if out, err = c.next(ctx, n); err == nil {
			err = r.hold(k, r.at, out)
		}
	} else if out, err = c.picked(ctx, n, r.work.chosen); err == nil {
		err = r.holdPicked(k, out)
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// opened is the reader of field k, at the next row.
func (r *groupReader) opened(ctx context.Context, k int) (*chunkReader, error) {
	if r.flat[k] == nil {
		c, err := r.openColumn(ctx, k)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return nil, errNotFlat
		}
		r.flat[k] = c
	}
	return r.flat[k], r.flat[k].seek(ctx, r.at)
}

// openColumn walks the pages of field k, and is its reader; nil if it is not flat.
func (r *groupReader) openColumn(ctx context.Context, k int) (c *chunkReader, err error) {
	i := r.fields[k]
	leaf := r.file.leaves[i][0]
	chunk, err := r.file.meta.RowGroup(r.g).ColumnChunk(leaf)
	if err != nil {
		return nil, inFile(r.file.path, rowGroup(r.g), err, ErrFormat)
	}
	there := r.there
	var raw *memory.Buffer
	defer func() {
		if c == nil {
			raw.Release()
		}
	}()
	start, size := chunkSpan(chunk)
	if there == nil && r.memory == nil && (size <= smallChunk || 2*(r.end-r.at) >= r.file.meta.RowGroup(r.g).NumRows()) {
		there = fetch(ctx, r.file.input, &raw, r.from, []span{{start, size}})
	}
	pages, err := r.file.pagesOf(ctx, there, chunk, rowGroup(r.g), r.file.meta.Schema.Column(leaf).Path())
	if err != nil {
		return nil, err
	}
	if c = r.file.flatChunk(r.from, r.g, leaf, r.file.schema.Field(i), pages, r.most); c != nil {
		c.there, c.raw = there, raw
	}
	return c, nil
}

// smallChunk is how large a column chunk is that is read at once though a few rows of it are
// wanted.
const smallChunk = 1 << 20

// open walks all pages and makes the readers of flat columns. It gives the
// other leaf columns and the size of the largest page among these.
func (r *groupReader) open(ctx context.Context) (leaves []int, largest int64, others *arrow.Schema, err error) {
	r.flat = make([]*chunkReader, len(r.fields))
	var fields []arrow.Field
	for k, i := range r.fields {
		field := r.file.schema.Field(i)
		var all []chunkPage // of its leaves
		if len(r.file.leaves[i]) == 1 {
			if r.flat[k], err = r.openColumn(ctx, k); err != nil {
				return nil, 0, nil, err
			}
		}
		if r.flat[k] != nil {
			continue
		}
		for _, leaf := range r.file.leaves[i] {
			chunk, err := r.file.meta.RowGroup(r.g).ColumnChunk(leaf)
			if err != nil {
				return nil, 0, nil, inFile(r.file.path, rowGroup(r.g), err, ErrFormat)
			}
			pages, err := r.file.pagesOf(ctx, r.there, chunk, rowGroup(r.g), r.file.meta.Schema.Column(leaf).Path())
			if err != nil {
				return nil, 0, nil, err
			}
			largest = max(largest, largestOf(pages))
			all = append(all, pages...)
		}
		if err := r.checkPages(ctx, field.Name, all); err != nil {
			return nil, 0, nil, err
		}
		leaves = append(leaves, r.file.leaves[i]...)
		fields = append(fields, field)
	}
	r.checked = true
	return leaves, largest, arrow.NewSchema(fields, nil), nil
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

// close gives back what is open: what is read then is opened anew.
func (r *groupReader) close() {
	r.beside.close()
	r.work.close()
	for _, c := range r.flat {
		if c != nil {
			c.close()
		}
	}
	r.flat, r.beside = nil, nil
}

func releaseAll(columns []*memory.Column) {
	for _, c := range columns {
		if c != nil {
			c.Release()
		}
	}
}

// likelyFlat reports whether the metadata of a row group says of a field that a chunkReader
// reads it. The headers of pages tell for sure.
func (f *parquetFile) likelyFlat(g, field int) bool {
	if len(f.leaves[field]) != 1 {
		return false
	}
	chunk, err := f.meta.RowGroup(g).ColumnChunk(f.leaves[field][0])
	if err != nil {
		return false
	}
	for _, e := range chunk.Encodings() {
		if !slices.Contains(flatEncodings, int(e)) {
			return false
		}
	}
	return f.flatChunk(memory.Heap, g, f.leaves[field][0], f.schema.Field(field), nil, 1) != nil
}

var flatEncodings = []int{encodingPlain, encodingPlainDictionary, encodingRLE, encodingDeltaBinary, encodingDeltaLengths, encodingDeltaBytes, encodingDictionary}
