package dataloader

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// deviceReader gathers batches of a table where the table lies: in the memory of the
// device that the loader's batches go to. Of a batch the numbers of its rows go there
// and nothing comes back.
type deviceReader struct {
	backend *kernels.Backend
	parts   []Part
	columns [][]*memory.Column // of each part
}

// newDeviceReader opens a source for a loader's device, or is nil where batches are to
// be made in the host's memory: of other sources and of tables elsewhere, for a
// Transform, which works on the host, and of parts that the device's kernels do not
// make.
func newDeviceReader(ctx context.Context, s Source, parts []Part, o *Options) (_ *deviceReader, err error) {
	src, ok := s.(*tableSource)
	if !ok || o.Transform != nil {
		return nil, nil
	}
	b := src.t.Backend()
	if o.Device == nil || b.Device != o.Device || b.Device.Place().HostAccessible() || b.Set.GatherRows.Func == nil {
		return nil, nil
	}
	for i := range parts {
		if !gathersThere(&parts[i], src.t) {
			return nil, nil
		}
	}
	stream, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	r := &deviceReader{backend: b, parts: parts}
	defer func() {
		if err = errors.Join(err, stream.Close()); err != nil {
			_ = r.Close() // which has nothing to say
		}
	}()
	whole := map[int]*memory.Column{}
	for i := range parts {
		var columns []*memory.Column
		for _, c := range parts[i].Columns {
			if whole[c] == nil {
				if whole[c], err = wholeColumn(ctx, b, stream, src.t, c); err != nil {
					return nil, err
				}
				defer whole[c].Release()
			}
			if err := r.check(ctx, stream, whole[c], &parts[i], src.t.Schema().Field(c).Name); err != nil {
				return nil, err
			}
			columns = append(columns, whole[c])
		}
		for _, c := range columns {
			c.Retain()
		}
		r.columns = append(r.columns, columns)
	}
	return r, stream.Wait(ctx)
}

// gathersThere reports whether a device's kernel makes a part of a table's columns.
func gathersThere(p *Part, t *table.Table) bool {
	if p.Encodings != nil || p.Steps > 0 || !kernels.NumberTypes.Has(p.Type.ID()) || isHalf(p.Type) {
		return false
	}
	for _, c := range p.Columns {
		f := t.Schema().Field(c).Type.ID()
		if !kernels.RowTypes.Has(f) || kernels.FloatTypes.Has(f) && !kernels.FloatTypes.Has(p.Type.ID()) {
			return false
		}
		for _, b := range t.Chunks() {
			if b.Column(c).Place() != t.Backend().Device.Place() {
				return false
			}
		}
	}
	return true
}

// wholeColumn is a column of a table as one: a reference to that of its only chunk, or one
// that is made of those of all.
func wholeColumn(ctx context.Context, b *kernels.Backend, s device.Stream, t *table.Table, column int) (*memory.Column, error) {
	var pieces []*memory.Column
	for _, chunk := range t.Chunks() {
		pieces = append(pieces, chunk.Column(column))
	}
	if len(pieces) == 1 {
		return pieces[0].Retain(), nil
	}
	return b.Concat(ctx, s, pieces)
}

// check is an error for nulls that there is no mask for, and for integers that the
// part's type cannot hold.
func (r *deviceReader) check(ctx context.Context, s device.Stream, c *memory.Column, p *Part, name string) error {
	if !p.Mask && c.MayHaveNulls() {
		nulls := c.NullCount()
		if nulls == memory.UnknownNulls {
			count, err := r.backend.Reduce(ctx, s, kernels.Count, c, kernels.AggregateOptions{})
			if err != nil {
				return err
			}
			defer count.Release()
			known, err := r.backend.Scalar(ctx, s, count, 0)
			if err != nil {
				return err
			}
			nulls = c.Len() - known.Int64()
		}
		if nulls > 0 {
			return nullsError(name, nulls)
		}
	}
	number := numberOf(c.Type())
	if !arrow.IsInteger(p.Type.ID()) || number.ID() == p.Type.ID() || c.Type().ID() == arrow.BOOL {
		return nil
	}
	as, err := c.WithType(number)
	if err != nil {
		return err
	}
	defer as.Release()
	made, err := r.backend.Cast(ctx, s, as, p.Type, kernels.CastOptions{})
	if err != nil {
		return fmt.Errorf("column %q as %v: %w", name, p.Type, err)
	}
	made.Release()
	return nil
}

// Read is not for readers of a device's memory: gather is.
func (r *deviceReader) Read(context.Context, []int64, []Tensor) error {
	return device.Errorf(device.ErrUnsupported, r.backend.Device.Name(), "dataloader", "rows on the device are not read into the host's memory")
}

// Bytes is nothing: rows are gathered from where they lie.
func (r *deviceReader) Bytes() int64 { return 0 }

// Close gives the columns back.
func (r *deviceReader) Close() error {
	for _, columns := range r.columns {
		releaseColumns(columns)
	}
	r.columns = nil
	return nil
}

// prepare gives a slot what its batches are gathered with.
func (r *deviceReader) prepare(s *slot) error {
	most := int64(len(s.rows))
	buffer, err := memory.New(r.backend.Device.Memory(), 8*most)
	if err != nil {
		return err
	}
	column, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: most, Buffers: []*memory.Buffer{nil, buffer}})
	if err != nil {
		return err
	}
	s.device.rows = column
	return nil
}

// gather begins to gather a slot's rows into its half on the device, after who read the
// last batch there.
func (r *deviceReader) gather(ctx context.Context, l *Loader, s *slot) error {
	d := s.device
	for _, row := range s.rows[:s.n] {
		if uint64(row) >= uint64(r.columns[0][0].Len()) {
			return device.Errorf(device.ErrValue, "", "dataloader", "row %d of %d", row, r.columns[0][0].Len())
		}
	}
	if err := l.after(d); err != nil {
		return err
	}
	stream := l.device.stream
	copy(view[int64](s.buffer.Bytes()), s.rows[:s.n])
	if err := stream.Copy(d.rows.Buffer(1), 0, s.buffer, 0, 8*s.n); err != nil {
		return err
	}
	rows := d.rows
	if s.n < rows.Len() {
		var err error
		if rows, err = rows.Slice(0, s.n); err != nil {
			return err
		}
		defer rows.Release()
	}
	for i := range r.parts {
		if err := r.backend.GatherRows(ctx, stream, r.columns[i], rows, r.into(s, i)); err != nil {
			return err
		}
	}
	return stream.Record(d.copied)
}

// into is where a part of a slot's batch lies on the device.
func (r *deviceReader) into(s *slot, i int) kernels.RowsInto {
	t, p := &s.tensors[i], &r.parts[i]
	data, valid := s.loader.offsetsOf(i)
	m := kernels.Matrix{Data: s.device.buffer, Type: p.Type, Offset: data / p.width(), Rows: t.Rows, Cols: t.Columns, Stride: t.RowStride}
	if p.ColumnMajor {
		m.Rows, m.Cols, m.Stride = t.Columns, t.Rows, t.ColumnStride
	}
	to := kernels.RowsInto{Values: m, ColumnMajor: p.ColumnMajor}
	if p.Mask {
		to.Mask = m
		to.Mask.Type, to.Mask.Offset = arrow.PrimitiveTypes.Uint8, valid
	}
	return to
}
