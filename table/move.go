package table

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// To is the table on another backend, as a new reference: where both work on
// host memory the same columns, else copies of them, which are there when the
// call returns. Chunks stay chunks, windows stay windows, and buffers that
// several columns share are copied once. From one device to another the copies
// go by way of the host. When ctx ends first it is an ErrCanceled.
func (t *Table) To(ctx context.Context, b *kernels.Backend) (*Table, error) {
	from, to := t.backend.Device, b.Device
	switch {
	case from.Place() == to.Place(), from.Place().HostAccessible() && to.Place().HostAccessible():
		return t.with(b, func(c *Batch) (*Batch, error) { return c.Retain(), nil })
	case to.Place().HostAccessible():
		return t.copied(ctx, b, from, to.Memory())
	case from.Place().HostAccessible():
		return t.copied(ctx, b, to, to.Memory())
	}
	host, err := t.copied(ctx, t.backend, from, from.Pinned())
	if err != nil {
		return nil, err
	}
	defer host.Release()
	return host.copied(ctx, b, to, to.Memory())
}

// with is a table on a backend of what each makes of the chunks.
func (t *Table) with(b *kernels.Backend, each func(*Batch) (*Batch, error)) (*Table, error) {
	chunks := make([]*Batch, 0, len(t.chunks))
	for _, c := range t.chunks {
		there, err := each(c)
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
			return nil, err
		}
		chunks = append(chunks, there)
	}
	return NewTable(b, t.schema, chunks)
}

// copied is the table on b of copies in a memory, made by a stream of a device.
func (t *Table) copied(ctx context.Context, b *kernels.Backend, by device.Device, to memory.Allocator) (out *Table, err error) {
	s, err := by.NewStream()
	if err != nil {
		return nil, err
	}
	m := device.NewMover(s, to)
	defer func() {
		m.Release()
		if e := s.Close(); err == nil && e != nil {
			out.Release()
			out, err = nil, e
		}
	}()
	return t.with(b, func(c *Batch) (*Batch, error) { // chunk by chunk, so that little is under way when ctx ends
		if err := device.Canceled(ctx, by.Name(), "move"); err != nil {
			return nil, err
		}
		there, err := c.Move(m)
		if err == nil {
			if err = s.Wait(ctx); err != nil {
				there.Release()
			}
		}
		return there, err
	})
}

// onHost is a table of host columns, as a new reference: t itself, or a copy. It
// is only to be read.
func (t *Table) onHost(ctx context.Context) (*Table, error) {
	if t.backend.Device.Place().HostAccessible() {
		return t.Retain(), nil
	}
	return t.copied(ctx, t.backend, t.backend.Device, t.backend.Device.Pinned())
}

// onDevice is a table of a backend made of one with host columns, which it
// takes over, also when it fails.
func (t *Table) onDevice(ctx context.Context) (*Table, error) {
	if t.backend.Device.Place().HostAccessible() {
		return t, nil
	}
	defer t.Release()
	return t.copied(ctx, t.backend, t.backend.Device, t.backend.Device.Memory())
}

// columnOnHost is a column of the table's chunks on the host.
func (t *Table) columnOnHost(ctx context.Context, i int) (*Table, error) {
	one := arrow.NewSchema([]arrow.Field{t.schema.Field(i)}, nil)
	chunks := make([]*Batch, len(t.chunks))
	for k, c := range t.chunks {
		chunks[k], _ = NewBatch(one, c.Len(), []*memory.Column{c.Columns()[i].Retain()}) // as it stands in c
	}
	narrow, err := NewTable(t.backend, one, chunks)
	if err != nil {
		return nil, err
	}
	defer narrow.Release()
	return narrow.onHost(ctx)
}

// rowsOnHost is a table of some rows, in rising order, in host memory. Elsewhere
// they are gathered on the device, so that no more than they is copied; columns
// of types that the device cannot gather are copied whole.
func (t *Table) rowsOnHost(ctx context.Context, rows []int64) (_ *Table, err error) {
	if t.backend.Device.Place().HostAccessible() {
		return t.Retain(), nil
	}
	s, err := t.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	before := int64(0)
	return t.with(t.backend, func(c *Batch) (*Batch, error) {
		var here []kernels.Scalar
		for _, r := range rows {
			if r >= before && r < before+c.Len() {
				here = append(here, kernels.Int64(r-before))
			}
		}
		before += c.Len()
		return t.gathered(ctx, s, c, here)
	})
}

// gathered is some rows of a batch in host memory.
func (t *Table) gathered(ctx context.Context, s device.Stream, b *Batch, rows []kernels.Scalar) (*Batch, error) {
	indices, err := t.backend.FromScalars(ctx, s, arrow.PrimitiveTypes.Int64, rows)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	columns := make([]*memory.Column, 0, len(b.Columns()))
	for _, c := range b.Columns() {
		some, err := t.backend.Take(ctx, s, c, indices, kernels.TakeOptions{})
		if errors.Is(err, device.ErrUnsupported) {
			some, err = t.picked(ctx, s, c, rows)
		}
		var host *memory.Column
		if err == nil {
			host, err = t.backend.OnHost(ctx, s, some)
			some.Release()
		}
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, host)
	}
	return NewBatch(b.Schema(), int64(len(rows)), columns)
}

// picked is some rows of a column, picked on the host.
func (t *Table) picked(ctx context.Context, s device.Stream, c *memory.Column, rows []kernels.Scalar) (*memory.Column, error) {
	host, err := t.backend.OnHost(ctx, s, c)
	if err != nil {
		return nil, err
	}
	defer host.Release()
	values := make([]kernels.Scalar, len(rows))
	for i, r := range rows {
		values[i] = kernels.ScalarAt(host, r.Int64())
	}
	return kernels.FromScalars(t.backend.Device.Pinned(), c.Type(), values)
}
