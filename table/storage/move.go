package storage

import (
	"context"
	"errors"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// uploader copies the batches of a reader to a device.
type uploader struct {
	mover
	from table.BatchReader
}

func newUploader(b *kernels.Backend, from table.BatchReader) (table.BatchReader, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	return &uploader{mover{s, b.Device.Memory(), b.Device.Place()}, from}, nil
}

// Next is the next batch, on the device.
func (u *uploader) Next(ctx context.Context) (*table.Batch, error) {
	b, err := u.from.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return u.batch(ctx, b)
}

// Close ends the reading and the copying.
func (u *uploader) Close() error {
	return errors.Join(u.from.Close(), u.stream.Close())
}

// mover copies batches into the memory of another place.
type mover struct {
	stream device.Stream
	to     memory.Allocator
	place  memory.Place
}

func (u *mover) batch(ctx context.Context, b *table.Batch) (*table.Batch, error) {
	columns := make([]*memory.Column, 0, b.NumColumns())
	for i := range b.NumColumns() {
		c, err := u.column(b.Column(i))
		if err != nil {
			for _, c := range columns {
				c.Release()
			}
			return nil, err
		}
		columns = append(columns, c)
	}
	moved, err := table.NewBatch(b.Schema(), b.Len(), columns)
	if err != nil {
		return nil, err
	}
	if err := u.stream.Wait(ctx); err != nil {
		moved.Release()
		return nil, err
	}
	return moved, nil
}

// column copies a column with all its parts. The window stays as it is.
func (u *mover) column(c *memory.Column) (*memory.Column, error) {
	p := memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount(), Place: u.place}
	fail := func(err error) (*memory.Column, error) {
		for _, b := range p.Buffers {
			b.Release()
		}
		for _, c := range p.Children {
			c.Release()
		}
		return nil, err
	}
	for i := range 3 {
		to, err := u.buffer(c.Buffer(i))
		if err != nil {
			return fail(err)
		}
		p.Buffers = append(p.Buffers, to)
	}
	for len(p.Buffers) > 0 && p.Buffers[len(p.Buffers)-1] == nil {
		p.Buffers = p.Buffers[:len(p.Buffers)-1]
	}
	for i := range c.NumChildren() {
		child, err := u.column(c.Child(i))
		if err != nil {
			return fail(err)
		}
		p.Children = append(p.Children, child)
	}
	if c.Dictionary() != nil {
		dict, err := u.column(c.Dictionary())
		if err != nil {
			return fail(err)
		}
		p.Dictionary = dict
	}
	return memory.NewColumn(p)
}

func (u *mover) buffer(b *memory.Buffer) (*memory.Buffer, error) {
	if b == nil {
		return nil, nil
	}
	to, err := memory.New(u.to, b.Len())
	if err != nil {
		return nil, err
	}
	if err := u.stream.Copy(to, 0, b, 0, b.Len()); err != nil {
		to.Release()
		return nil, err
	}
	return to, nil
}
