package dataloader

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// tabled is a source whose rows can be had as tables, of columns of any type.
type tabled interface {
	openTables(ctx context.Context, m memory.Allocator, columns []int, c *coming) (rowTables, error)
}

// rowTables gives rows of some columns of a source as tables. table may be called from any
// number of goroutines at the same time.
type rowTables interface {
	// table is rows in the order in which they are named, as a reference of the
	// caller's. ticket is that of their batch, or -1.
	table(ctx context.Context, ticket int64, rows []int64) (*table.Table, error)
	// Bytes is how much memory is held beside the source.
	Bytes() int64
	// Close gives it back, once no table is being made.
	Close() error
}

// openRows opens a source for tables of some columns. Of a source that has none numbers
// are made tables on b, a backend of the host.
func openRows(ctx context.Context, s Source, b *kernels.Backend, m memory.Allocator, columns []int, c *coming) (rowTables, error) {
	if t, ok := s.(tabled); ok {
		return t.openTables(ctx, m, columns, c)
	}
	r := &numberRows{source: s.Schema(), schema: fieldsOf(s.Schema(), columns), backend: b}
	for _, i := range columns {
		r.parts = append(r.parts, Part{Columns: []int{i}, Type: numberOf(s.Schema().Field(i).Type), Mask: true})
	}
	var err error
	r.Reader, err = s.Open(ctx, m, r.parts, 0)
	return r, err
}

// fieldsOf is a schema of some columns of another.
func fieldsOf(s *arrow.Schema, columns []int) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, s.Field(c))
	}
	return arrow.NewSchema(fields, nil)
}

// openTables gives rows of a table, where it lies.
func (s *tableSource) openTables(_ context.Context, _ memory.Allocator, columns []int, _ *coming) (rowTables, error) {
	t, err := narrowed(s.t, columns)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	return newTableRows(t), nil
}

// tableRows gives rows of a table, those that follow each other as windows of its chunks.
type tableRows struct {
	t       *table.Table
	sorter  *pieceReader // of rows by chunks
	streams streams
}

func newTableRows(t *table.Table) *tableRows {
	starts := []int64{0}
	for i, b := range t.Chunks() {
		starts = append(starts, starts[i]+b.Len())
	}
	return &tableRows{t: t.Retain(), sorter: &pieceReader{starts: starts, scratch: make(chan *pieceScratch, 64)}, streams: newStreams(t.Backend())}
}

func (r *tableRows) table(ctx context.Context, _ int64, rows []int64) (*table.Table, error) {
	chunks := r.t.Chunks()
	return sortedRows(ctx, r.sorter, &r.streams, r.t.Schema(), rows, func(s device.Stream, i int, first int64, own []int64) ([]*table.Batch, error) {
		one, err := takeRows(ctx, r.t.Backend(), s, chunks[i], first, own)
		return []*table.Batch{one}, err
	})
}

// Bytes is nothing: rows are windows of the table, or the batch's.
func (*tableRows) Bytes() int64 { return 0 }

// Close gives the table back.
func (r *tableRows) Close() error {
	r.t.Release()
	return r.streams.close()
}

// takeRows is rows of a chunk: those named, or from the first one on as many, where that
// is not negative.
func takeRows(ctx context.Context, b *kernels.Backend, s device.Stream, chunk *table.Batch, first int64, rows []int64) (*table.Batch, error) {
	if first >= 0 {
		return chunk.Slice(first, int64(len(rows)))
	}
	indices, err := indicesOf(b, s, rows)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	columns := make([]*memory.Column, 0, chunk.NumColumns())
	for i := range chunk.NumColumns() {
		c, err := moved(chunk.Column(i), func(c *memory.Column) (*memory.Column, error) {
			return b.Take(ctx, s, c, indices, kernels.TakeOptions{Trusted: true})
		})
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return table.NewBatch(chunk.Schema(), int64(len(rows)), columns)
}

// moved is what a kernel makes of a column whose values it only moves: those of
// float16, which no kernel has, as whole numbers of as many bits.
func moved(c *memory.Column, by func(*memory.Column) (*memory.Column, error)) (*memory.Column, error) {
	if c.Type().ID() != arrow.FLOAT16 {
		return by(c)
	}
	bits, err := c.WithType(arrow.PrimitiveTypes.Uint16)
	if err != nil {
		return nil, err
	}
	defer bits.Release()
	made, err := by(bits)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	return made.WithType(c.Type())
}

func releaseColumns(columns []*memory.Column) {
	for _, c := range columns {
		c.Release()
	}
}

// indicesOf is whole numbers as a column on a backend's device.
func indicesOf[T int32 | int64](b *kernels.Backend, s device.Stream, values []T) (*memory.Column, error) {
	buffer, err := memory.New(memory.Heap, int64(len(values))*8)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		view[int64](buffer.Bytes())[i] = int64(v)
	}
	c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: int64(len(values)), Buffers: []*memory.Buffer{nil, buffer}})
	if err != nil || b.Device.Place().HostAccessible() {
		return c, err
	}
	defer c.Release()
	m := device.NewMover(s, b.Device.Memory())
	defer m.Release()
	there, err := m.Column(c)
	if err != nil {
		return nil, err
	}
	if err := s.Wait(context.Background()); err != nil { // the host's memory goes now
		there.Release()
		return nil, err
	}
	return there, nil
}

// sortedRows makes a table of rows by way of the pieces that r sorts them into: of gives
// those of a piece, from first on where it is not negative, as batches.
func sortedRows(ctx context.Context, r *pieceReader, from *streams, schema *arrow.Schema, rows []int64,
	of func(s device.Stream, i int, first int64, rows []int64) ([]*table.Batch, error)) (_ *table.Table, err error) {
	s, err := from.take()
	if err != nil {
		return nil, err
	}
	defer from.giveBack(s)
	sorted := r.borrow()
	defer r.giveBack(sorted)
	if err := r.sort(sorted, rows); err != nil {
		return nil, err
	}
	var all []*table.Batch
	err = r.eachPiece(sorted, func(i int, begin, end int32) error {
		first := int64(-1)
		if sorted.run {
			first = sorted.first + int64(begin) - r.starts[i]
		}
		some, err := of(s, i, first, sorted.rows[begin:end])
		all = append(all, some...)
		return err
	})
	if err == nil && !sorted.run && !slices.IsSorted(sorted.places) {
		all, err = reordered(ctx, from.of, s, schema, all, sorted.places)
	}
	if err == nil {
		err = s.Wait(ctx)
	}
	if err != nil {
		releaseAll(all)
		return nil, err
	}
	return table.NewTable(from.of, schema, all)
}

// reordered is batches as one whose row places[i] is their row i. It takes over the
// references.
func reordered(ctx context.Context, b *kernels.Backend, s device.Stream, schema *arrow.Schema, all []*table.Batch, places []int32) ([]*table.Batch, error) {
	defer releaseAll(all)
	inverse := make([]int64, len(places))
	for i, p := range places {
		inverse[p] = int64(i)
	}
	columns := make([]*memory.Column, 0, schema.NumFields())
	for i := range schema.NumFields() {
		var parts []*memory.Column
		for _, one := range all {
			parts = append(parts, one.Column(i))
		}
		c, err := moved(parts[0], func(first *memory.Column) (*memory.Column, error) {
			for k := 1; first != parts[0] && k < len(parts); k++ {
				bits, err := parts[k].WithType(first.Type())
				if err != nil {
					return nil, err
				}
				defer bits.Release()
				parts[k] = bits
			}
			parts[0] = first
			return b.Concat(ctx, s, parts)
		})
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	whole, err := table.NewBatch(schema, int64(len(places)), columns)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	one, err := takeRows(ctx, b, s, whole, -1, inverse)
	if err == nil {
		err = s.Wait(ctx) // what it is made of goes
	}
	return []*table.Batch{one}, err
}

// pieceRows gives rows of data that is decoded piece by piece.
type pieceRows struct {
	*pieceReader
	schema  *arrow.Schema
	columns []int // of a piece, nil where it has no others
	streams streams
}

// openTables gives rows of files.
func (f *Files) openTables(_ context.Context, m memory.Allocator, columns []int, c *coming) (rowTables, error) {
	schema := fieldsOf(f.Schema(), columns)
	names := []string{}
	for _, field := range schema.Fields() {
		names = append(names, field.Name)
	}
	r := f.tables(names, roughly(columns), m, c)
	return &pieceRows{r, schema, nil, newStreams(f.backend)}, nil
}

// openTables gives rows of a stream.
func (s *Stream) openTables(_ context.Context, m memory.Allocator, columns []int, _ *coming) (rowTables, error) {
	r, err := s.pieces(nil, m)
	if err != nil {
		return nil, err
	}
	r.parts = roughly(columns)
	return &pieceRows{r, fieldsOf(s.schema, columns), columns, newStreams(s.backend)}, nil
}

// roughly is parts by which the size of pieces is guessed before they are there.
func roughly(columns []int) (parts []Part) {
	for _, c := range columns {
		parts = append(parts, Part{Columns: []int{c}, Type: arrow.PrimitiveTypes.Float64})
	}
	return parts
}

func (r *pieceRows) table(ctx context.Context, ticket int64, rows []int64) (*table.Table, error) {
	if r.coming != nil && ticket >= 0 {
		r.foresee(ticket)
	}
	return sortedRows(ctx, r.pieceReader, &r.streams, r.schema, rows, func(_ device.Stream, i int, first int64, own []int64) ([]*table.Batch, error) {
		held, err := r.cache.take(ctx, i)
		if err != nil {
			return nil, err
		}
		defer r.cache.giveBack(held)
		piece := held.reader.(*tableReader).table
		columns := r.columns
		if columns == nil {
			for _, f := range r.schema.Fields() { // as they lie in the file
				columns = append(columns, piece.Schema().FieldIndices(f.Name)...)
			}
		}
		t, err := narrowed(piece, columns)
		if err != nil {
			return nil, err
		}
		defer t.Release()
		if first >= 0 {
			own = make([]int64, len(own))
			for k := range own {
				own[k] = first + int64(k)
			}
		}
		some := newTableRows(t)
		out, err := some.table(ctx, -1, own)
		if err := errors.Join(err, some.Close()); err != nil {
			out.Release()
			return nil, err
		}
		defer out.Release()
		var chunks []*table.Batch
		for _, b := range out.Chunks() {
			chunks = append(chunks, b.Retain())
		}
		return chunks, nil
	})
}

// Close closes the pieces.
func (r *pieceRows) Close() error { return errors.Join(r.streams.close(), r.pieceReader.Close()) }
