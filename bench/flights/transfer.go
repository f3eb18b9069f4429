package flights

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// place is where copies go: memory of one device, by way of a stream of the
// device that does the copying.
type place struct {
	stream  device.Stream
	memory  memory.Allocator
	backend *kernels.Backend // of the tables made
}

// toHost is the place for copies of a device's tables that Go code can read.
func toHost(b *kernels.Backend, s device.Stream) place { return place{s, b.Device.Pinned(), b} }

// copyTable copies a table, buffer by buffer, and waits until that is done. A
// buffer that several columns or chunks share is copied once. bytes is what was
// copied. When ctx ends first, the copies under way keep what they use and the
// error is an ErrCanceled.
func (p place) copyTable(ctx context.Context, t *table.Table) (_ *table.Table, bytes int64, err error) {
	done := map[*memory.Buffer]*memory.Buffer{}
	var chunks []*table.Batch
	defer func() {
		for _, b := range done {
			b.Release() // the columns have their own references
		}
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
		}
	}()
	for _, chunk := range t.Chunks() {
		if err := device.Canceled(ctx, p.backend.Device.Name(), "transfer"); err != nil {
			return nil, 0, err
		}
		columns := make([]*memory.Column, chunk.NumColumns())
		for i := range columns {
			if columns[i], err = p.copyColumn(done, chunk.Column(i)); err != nil {
				for _, c := range columns[:i] {
					c.Release()
				}
				return nil, 0, err
			}
		}
		b, err := table.NewBatch(chunk.Schema(), chunk.Len(), columns)
		if err != nil {
			return nil, 0, err
		}
		chunks = append(chunks, b)
		// Chunk by chunk, so that little is under way when ctx ends.
		if err := p.stream.Wait(ctx); err != nil {
			return nil, 0, err
		}
	}
	for b := range done {
		bytes += b.Len()
	}
	made := chunks
	chunks = nil // the table takes them over
	there, err := table.NewTable(p.backend, t.Schema(), made)
	return there, bytes, err
}

// copyColumn queues the copies of a column's buffers, its children's and its
// dictionary's, and gives the column of the copies.
func (p place) copyColumn(done map[*memory.Buffer]*memory.Buffer, c *memory.Column) (_ *memory.Column, err error) {
	parts := memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount(), Place: p.memory.Place()}
	defer func() {
		if err == nil {
			return
		}
		for _, b := range parts.Buffers {
			b.Release()
		}
		for _, child := range parts.Children {
			child.Release()
		}
	}()
	for i := range 3 {
		b, err := p.copyBuffer(done, c.Buffer(i))
		if err != nil {
			return nil, err
		}
		if b != nil { // a type has as many buffers as it needs: no nil ones behind them
			parts.Buffers = append(parts.Buffers, make([]*memory.Buffer, i+1-len(parts.Buffers))...)
			parts.Buffers[i] = b
		}
	}
	for i := range c.NumChildren() {
		child, err := p.copyColumn(done, c.Child(i))
		if err != nil {
			return nil, err
		}
		parts.Children = append(parts.Children, child)
	}
	if c.Dictionary() != nil {
		if parts.Dictionary, err = p.copyColumn(done, c.Dictionary()); err != nil {
			return nil, err
		}
	}
	made := parts
	parts = memory.Parts{} // the column takes them over
	return memory.NewColumn(made)
}

// copyBuffer queues the copy of a buffer, unless there is one.
func (p place) copyBuffer(done map[*memory.Buffer]*memory.Buffer, b *memory.Buffer) (*memory.Buffer, error) {
	if b == nil {
		return nil, nil
	}
	if there := done[b]; there != nil {
		return there.Retain(), nil
	}
	there, err := memory.New(p.memory, b.Len())
	if err != nil {
		return nil, err
	}
	if err := p.stream.Copy(there, 0, b, 0, b.Len()); err != nil {
		there.Release()
		return nil, err
	}
	done[b] = there
	return there.Retain(), nil
}
