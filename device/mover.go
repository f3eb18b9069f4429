package device

import (
	"context"

	"github.com/volley-go/volley/memory"
)

// Mover copies columns to memory of another place, by way of a stream that
// reaches both: host memory and that of the stream's device. A buffer that
// several columns share is copied once. A Mover belongs to one goroutine.
type Mover struct {
	stream Stream
	to     memory.Allocator
	done   map[*memory.Buffer]*memory.Buffer
	bytes  int64
}

// NewMover makes a Mover into memory of to.
func NewMover(s Stream, to memory.Allocator) *Mover {
	return &Mover{stream: s, to: to, done: make(map[*memory.Buffer]*memory.Buffer)}
}

// Column queues the copies of a column's buffers, its children's and its
// dictionary's, and gives the column of the copies, whose contents are there
// once the stream has come so far. The window is kept: the copy has the
// column's offset, length and null count.
func (m *Mover) Column(c *memory.Column) (_ *memory.Column, err error) {
	p := memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount(), Place: m.to.Place()}
	defer func() {
		if err == nil {
			return
		}
		for _, b := range p.Buffers {
			b.Release()
		}
		for _, child := range p.Children {
			child.Release()
		}
	}()
	for i := range 3 {
		b, err := m.Buffer(c.Buffer(i))
		if err != nil {
			return nil, err
		}
		if b != nil { // a type has as many buffers as it needs: no nil ones behind them
			p.Buffers = append(p.Buffers, make([]*memory.Buffer, i+1-len(p.Buffers))...)
			p.Buffers[i] = b
		}
	}
	for i := range c.NumChildren() {
		child, err := m.Column(c.Child(i))
		if err != nil {
			return nil, err
		}
		p.Children = append(p.Children, child)
	}
	if c.Dictionary() != nil {
		if p.Dictionary, err = m.Column(c.Dictionary()); err != nil {
			return nil, err
		}
	}
	made := p
	p = memory.Parts{} // the column takes them over
	return memory.NewColumn(made)
}

// Buffer queues the copy of a buffer, unless there is one already, and gives
// a reference to the copy. The copy of nil is nil.
func (m *Mover) Buffer(b *memory.Buffer) (*memory.Buffer, error) {
	if b == nil {
		return nil, nil
	}
	if there := m.done[b]; there != nil {
		return there.Retain(), nil
	}
	there, err := memory.New(m.to, b.Len())
	if err != nil {
		return nil, err
	}
	if err := m.stream.Copy(there, 0, b, 0, b.Len()); err != nil {
		there.Release()
		return nil, err
	}
	m.done[b] = there
	m.bytes += b.Len()
	return there.Retain(), nil
}

// Bytes is how much was copied so far.
func (m *Mover) Bytes() int64 { return m.bytes }

// Release drops the Mover's own references to the copies and forgets them. The
// columns that it gave keep theirs.
func (m *Mover) Release() {
	for _, b := range m.done {
		b.Release()
	}
	clear(m.done)
}

// Move copies one column to memory of another place as a Mover does, and waits
// until it is there, or until ctx ends (ErrCanceled).
func Move(ctx context.Context, s Stream, to memory.Allocator, c *memory.Column) (*memory.Column, error) {
	m := NewMover(s, to)
	defer m.Release()
	moved, err := m.Column(c)
	if err != nil {
		return nil, err
	}
	if err := s.Wait(ctx); err != nil {
		moved.Release()
		return nil, err
	}
	return moved, nil
}
