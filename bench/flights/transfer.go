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
	m := device.NewMover(p.stream, p.memory)
	defer m.Release()
	var chunks []*table.Batch
	defer func() {
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
		b, err := chunk.Move(m)
		if err != nil {
			return nil, 0, err
		}
		chunks = append(chunks, b)
		// Chunk by chunk, so that little is under way when ctx ends.
		if err := p.stream.Wait(ctx); err != nil {
			return nil, 0, err
		}
	}
	made := chunks
	chunks = nil // the table takes them over
	there, err := table.NewTable(p.backend, t.Schema(), made)
	return there, m.Bytes(), err
}
