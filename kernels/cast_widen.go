package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// widens tells whether a cast gives texts or bytes longer offsets and changes
// nothing else.
func widens(from, to arrow.DataType) bool {
	switch from.ID() {
	case arrow.STRING:
		return to.ID() == arrow.LARGE_STRING || to.ID() == arrow.LARGE_BINARY
	case arrow.BINARY:
		return to.ID() == arrow.LARGE_BINARY
	}
	return false
}

// widen casts texts to the type with longer offsets for a backend whose Cast
// takes no texts: the offsets are cast as the integers that they are, on the
// device, and validity and bytes are shared. It moves 12 bytes a row.
func (b *Backend) widen(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	if c.Len() == 0 {
		return b.FromScalars(ctx, s, to, nil)
	}
	short, err := memory.NewColumn(memory.Parts{
		Type: arrow.PrimitiveTypes.Int32, Len: c.Offset() + c.Len() + 1,
		Buffers: []*memory.Buffer{nil, c.Buffer(1).Retain()},
	})
	if err != nil {
		return nil, err
	}
	defer short.Release()
	long, err := b.Cast(ctx, s, short, arrow.PrimitiveTypes.Int64, CastOptions{})
	if err != nil {
		return nil, err
	}
	defer long.Release()
	offsets, err := long.Buffer(1).Slice(8*long.Offset(), 8*long.Len())
	if err != nil {
		return nil, err
	}
	return memory.NewColumn(memory.Parts{
		Type: to, Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount(),
		Buffers: []*memory.Buffer{c.Buffer(0).Retain(), offsets, c.Buffer(2).Retain()},
	})
}

// widenValues casts a dictionary column to its values with longer offsets.
func (b *Backend) widenValues(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	plain, err := b.Cast(ctx, s, c, c.Dictionary().Type(), CastOptions{})
	if err != nil {
		return nil, err
	}
	defer plain.Release()
	return b.Cast(ctx, s, plain, to, CastOptions{})
}
