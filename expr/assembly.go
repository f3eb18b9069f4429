package expr

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// newAssembly makes room for rows values of type t that count runs fill.
func newAssembly(k *kernels.Backend, t arrow.DataType, rows, count int64) (*assembly, error) {
	a := &assembly{backend: k, rows: rows, parts: memory.Parts{Type: t, Len: rows}}
	bytes := memory.BitmapBytes(rows)
	switch memory.LayoutOf(t) {
	case memory.LayoutBits:
	case memory.LayoutFixed:
		a.width = int64(memory.Width(t))
		bytes = rows * a.width
	default:
		a.pieces = make([]*memory.Column, count)
		return a, nil
	}
	var err error
	a.values, err = memory.New(k.Device.Memory(), bytes)
	return a, err
}

// release gives back what finish has not passed on.
func (a *assembly) release() {
	if a == nil {
		return
	}
	for _, p := range a.pieces {
		p.Release()
	}
	a.values.Release()
	a.valid.Release()
}

// put takes over the piece of run r.
func (a *assembly) put(r int64, p *memory.Column) error {
	if a.pieces != nil {
		a.pieces[r] = p
		return nil
	}
	defer p.Release()
	from, n := r*run, p.Len()
	if a.width > 0 {
		src := p.Buffer(1).Bytes()[p.Offset()*a.width:]
		copy(a.values.Bytes()[from*a.width:(from+n)*a.width], src)
	} else {
		memory.Bitmap(a.values.Bytes()).CopyFrom(from, p.Bits(), p.Offset(), n)
	}
	if p.NullCount() == 0 {
		return nil
	}
	a.once.Do(func() {
		if a.valid, a.err = memory.New(a.backend.Device.Memory(), memory.BitmapBytes(a.rows)); a.err == nil {
			memory.Bitmap(a.valid.Bytes()).Fill(0, a.rows, true)
		}
	})
	if a.err != nil {
		return a.err
	}
	a.nulls.Add(p.NullCount())
	memory.Bitmap(a.valid.Bytes()).CopyFrom(from, p.Validity(), p.Offset(), n)
	return nil
}

// finish is the whole column.
func (a *assembly) finish(ctx context.Context, s device.Stream) (*memory.Column, error) {
	if a.pieces != nil {
		return a.backend.Concat(ctx, s, a.pieces)
	}
	a.parts.Buffers = []*memory.Buffer{a.valid, a.values}
	a.parts.Nulls = a.nulls.Load()
	a.values, a.valid = nil, nil
	return memory.NewColumn(a.parts)
}
