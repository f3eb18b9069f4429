package storage

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// groupBeside reads the columns of a row group that are not flat through arrow-go, whose record
// batches say how many rows a batch has, and the flat ones beside them. It reads from the
// first row, and drops those before the ones that are wanted. It counts rows: a file that was
// cut in the middle of a page may end too early without an error of the decoder.
type groupBeside struct {
	*groupReader
	pos     int64 // rows read
	leaves  []int
	page    int64 // the largest
	size    int64 // rows of a record
	others  *arrow.Schema
	arena   *arena
	records pqarrow.RecordReader // nil where all are flat after all
}

// close gives back what is open.
func (r *groupBeside) close() {
	if r == nil {
		return
	}
	if r.records != nil {
		r.records.Release()
	}
	if r.arena != nil {
		r.arena.close()
	}
}

func (r *groupBeside) begin(ctx context.Context, size int64) (err error) {
	r.size = size
	if r.leaves, r.page, r.others, err = r.open(ctx); err != nil || len(r.leaves) == 0 {
		return err
	}
	r.arena = newArena(r.from, largestBlock(r.file.size))
	r.arena.raw = !slices.ContainsFunc(r.others.Fields(), func(field arrow.Field) bool { // whose items may be more than rows, and so their bitmaps longer
		return arrow.IsNested(field.Type.ID())
	})
	if r.records, err = r.recordsOf(ctx, r.arena, r.leaves); err != nil {
		return r.named(ctx, err)
	}
	return nil
}

// rows is the batch of the next record, nil if none of its rows is wanted.
func (r *groupBeside) rows(ctx context.Context, size int64) (*table.Batch, error) {
	if r.others == nil {
		if err := r.begin(ctx, size); err != nil {
			return nil, err
		}
	}
	columns, n, err := r.columns(ctx, size)
	if err != nil {
		return nil, err
	}
	defer func() { releaseAll(columns) }()
	first := r.pos
	r.pos += n
	from, to := max(r.groupReader.at, first), min(r.end, r.pos)
	if from >= to {
		return nil, nil
	}
	for k, c := range columns {
		if columns[k], err = c.Slice(from-first, to-from); err != nil {
			return nil, err
		}
		c.Release()
	}
	if r.filter == nil { // which looks at them first
		for k, c := range columns {
			if err := r.hold(k, from, c); err != nil {
				return nil, err
			}
		}
	}
	kept, err := r.filter.keep(ctx, r.groupReader, from, to-from, columns)
	r.groupReader.at = to
	if err != nil || kept == 0 {
		return nil, err
	}
	out := slices.Clone(columns[:r.want.NumFields()])
	clear(columns[:len(out)])
	return r.batchOf(kept, out)
}

// columns are those of all fields for the next rows, and how many these are.
func (r *groupBeside) columns(ctx context.Context, size int64) ([]*memory.Column, int64, error) {
	rows := r.file.meta.RowGroup(r.g).NumRows()
	columns, n := make([]*memory.Column, len(r.fields)), min(size, rows-r.pos)
	if r.records != nil {
		rec, err := r.record(r.records)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, r.named(ctx, err)
		}
		if err != nil || rec.NumRows() == 0 || rec.NumRows() > rows-r.pos {
			return nil, 0, damaged(r.file.path, rowGroup(r.g), "its pages do not hold the %d rows that it should have", rows)
		}
		n = rec.NumRows()
		if columns, err = r.given(r.arena, rec); err != nil {
			return nil, 0, inFile(r.file.path, rowGroup(r.g), err, ErrFormat)
		}
	}
	for k, c := range r.flat {
		if c == nil {
			continue
		}
		var err error
		if columns[k], err = c.next(ctx, n); err != nil {
			releaseAll(columns)
			return nil, 0, err
		}
	}
	return columns, n, nil
}

// recordsOf is arrow-go's reader of leaf columns.
func (r *groupBeside) recordsOf(ctx context.Context, a *arena, leaves []int) (_ pqarrow.RecordReader, err error) {
	defer guard(r.file.path, rowGroup(r.g), &err)
	reader, err := r.file.decoder(&until{ctx: ctx, in: r.file.input}, a, r.size, max(r.page, 1))
	if err != nil {
		return nil, err
	}
	return reader.GetRecordReader(ctx, leaves, []int{r.g})
}

// record is the next record, or io.EOF.
func (r *groupBeside) record(records pqarrow.RecordReader) (_ arrow.RecordBatch, err error) {
	defer guard(r.file.path, rowGroup(r.g), &err)
	return records.Read()
}

// named is an error of arrow-go's with the name of a column: it does not say which of
// several is wrong, so each is tried alone.
func (r *groupBeside) named(ctx context.Context, err error) error {
	err = inFile(r.file.path, rowGroup(r.g), decoderError(err), ErrFormat)
	var own *Error
	if !errors.As(err, &own) || own.Name != "" || !errors.Is(err, ErrFormat) && !errors.Is(err, device.ErrUnsupported) {
		return err
	}
	for k, c := range r.flat {
		i := r.fields[k]
		if c != nil || r.others.NumFields() > 1 && !r.fails(ctx, r.file.leaves[i]) {
			continue
		}
		one := *own
		one.Name = r.file.schema.Field(i).Name
		return &one
	}
	return err
}

// fails reports whether leaf columns cannot be read.
func (r *groupBeside) fails(ctx context.Context, leaves []int) bool {
	a := newArena(r.from, largestBlock(r.file.size))
	defer a.close()
	records, err := r.recordsOf(ctx, a, leaves)
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
func (r *groupBeside) given(a *arena, rec arrow.RecordBatch) ([]*memory.Column, error) {
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
