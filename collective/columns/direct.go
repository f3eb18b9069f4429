package columns

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective/internal/direct"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// GPU is a number of the GPU in whose memory results are, the same wherever that is open,
// where NCCL is there too; else, and on a Comm of one rank, it is 0.
func (t *Comm) GPU() int64 {
	if t.c.Size() == 1 {
		return 0
	}
	own, err := direct.Find(t.dev)
	if err != nil {
		return 0 // no fault: the host carries
	}
	t.gpu = own
	return own.ID
}

// UseGPUs has NCCL carry what Deal moves between GPUs, by the communicator of the
// collective.Comm, which is made where there is none. All ranks call it, each with the numbers that all
// ranks have by GPU. Where one has none, two have the same, or the library cannot connect them, the host goes on to carry.
// b has the kernels of the Comm's device. An error is that of all ranks.
func (t *Comm) UseGPUs(ctx context.Context, b *kernels.Backend, gpus []int64) error {
	const call = "use NCCL"
	if slices.Contains(gpus, 0) {
		return nil
	}
	turn, err := t.queue.Take(call)
	if err != nil {
		return err
	}
	defer turn.Done()
	if err := turn.Wait(ctx); err != nil {
		return err
	}
	return turn.Run(ctx, call, func(ctx context.Context) error {
		link, err := direct.Of(ctx, t.c, t.gpu, gpus)
		if errors.Is(err, device.ErrUnavailable) {
			return nil // on all ranks
		}
		if err == nil {
			t.link, t.kit = link, b
		}
		return err
	})
}

// listless reports whether there is no list in a type. Where the items of one lie is known only when
// its offsets have been read, so lists are staged.
func listless(typ arrow.DataType) bool {
	switch memory.LayoutOf(typ) {
	case memory.LayoutList, memory.LayoutLargeList:
		return false
	}
	return !slices.ContainsFunc(parts(typ), func(t arrow.DataType) bool { return !listless(t) })
}

// goes reports whether the buffers of a column go from GPU to GPU: the same on all ranks.
func (d *dealing) goes(i int) bool { return d.t.link != nil && listless(d.types[i]) }

// onlyFar reports whether no column is left for the host to carry.
func (d *dealing) onlyFar() bool {
	for i := range d.types {
		if !d.goes(i) {
			return false
		}
	}
	return len(d.types) > 0
}

// there is a column on the GPU: itself, or a copy that is made once.
func (d *dealing) there(ctx context.Context, c *memory.Column) (*memory.Column, error) {
	if c.Len() == 0 || c.Place() == d.t.dev.Place() || memory.LayoutOf(c.Type()) == memory.LayoutNull {
		return c, nil
	}
	if made := d.staged[c]; made != nil {
		return made, nil
	}
	made, err := device.Move(ctx, d.t.stream, d.t.dev.Memory(), c)
	if err == nil {
		d.staged[c] = made
	}
	return made, err
}

// span is texts of a parcel whose first and last offset are not known yet.
type span struct {
	p        *parcel
	node     int            // where its node begins in meta
	far      int            // its bytes among those that go
	offsets  *memory.Buffer // on the GPU
	from, to int64
	wide     bool
}

// width is that of an offset.
func (s *span) width() int64 {
	if s.wide {
		return 8
	}
	return 4
}

// addFar is parcel.add of a column without lists on a GPU. Of texts the bytes are found by measure.
func (d *dealing) addFar(p *parcel, c *memory.Column) error {
	if c.Len() == 0 {
		p.addEmpty(c.Type())
		return nil
	}
	from := c.Offset() &^ 7
	to := c.Offset() + c.Len()
	n := node{length: c.Len(), offset: c.Offset() - from, nulls: c.NullCount(), bytes: [3]int64{-1, -1, -1}}
	window := func(i int, at, end int64) {
		n.bytes[i] = end - at
		p.far = append(p.far, nccl.Vector{Buffer: c.Buffer(i), Offset: at, Len: end - at})
	}
	if c.Buffer(0) != nil && n.nulls != 0 {
		window(0, from/8, memory.BitmapBytes(to))
	}
	switch layout := memory.LayoutOf(c.Type()); layout {
	case memory.LayoutBits:
		window(1, from/8, memory.BitmapBytes(to))
	case memory.LayoutFixed, memory.LayoutDictionary:
		w := int64(memory.Width(c.Type()))
		window(1, from*w, to*w)
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		s := span{p: p, node: len(p.meta), offsets: c.Buffer(1), from: from, to: to, wide: layout == memory.LayoutLargeBinary}
		window(1, from*s.width(), (to+1)*s.width())
		s.far = len(p.far)
		p.far = append(p.far, nccl.Vector{Buffer: c.Buffer(2)})
		d.texts = append(d.texts, s)
	}
	p.put(n)
	for i := range c.NumChildren() {
		child, err := c.Child(i).Slice(from, to-from)
		if err == nil {
			err = d.addFar(p, child)
			child.Release() // its buffers live as long as c
		}
		if err != nil {
			return err
		}
	}
	if c.Dictionary() != nil {
		return p.dictionary(c.Dictionary(), func(values *memory.Column) error { return d.addFar(p, values) })
	}
	return nil
}

// measure reads the first and the last offset of every span, in one go.
func (d *dealing) measure(ctx context.Context) error {
	if len(d.texts) == 0 {
		return nil
	}
	const each = 16 // bytes, of two offsets
	ends, err := memory.New(d.t.dev.Pinned(), each*int64(len(d.texts)))
	if err != nil {
		return err
	}
	defer ends.Release()
	for i, s := range d.texts {
		at, w := each*int64(i), s.width()
		err := d.t.stream.Copy(ends, at, s.offsets, s.from*w, w)
		if err == nil {
			err = d.t.stream.Copy(ends, at+each/2, s.offsets, s.to*w, w)
		}
		if err != nil {
			return errors.Join(err, d.t.stream.Wait(ctx))
		}
	}
	if err := d.t.stream.Wait(ctx); err != nil {
		return err
	}
	for i, s := range d.texts {
		first, last := memory.View[int64](ends)[2*i], memory.View[int64](ends)[2*i+1]
		if !s.wide {
			first, last = int64(memory.View[int32](ends)[4*i]), int64(memory.View[int32](ends)[4*i+2])
		}
		s.p.meta[s.node+3] = first
		if last > first {
			s.p.meta[s.node+6] = last - first
			s.p.far[s.far].Offset, s.p.far[s.far].Len = first, last-first
		}
	}
	return nil
}

// roomFar makes room for a buffer that comes from another GPU.
func (p *parcel) roomFar(from memory.Allocator, n int64) error {
	b, err := memory.New(from, n)
	if err == nil {
		p.buffers, p.far = append(p.buffers, b), append(p.far, nccl.Vector{Buffer: b, Len: n})
	}
	return err
}

// moveFar sends and receives what goes from GPU to GPU, all at once.
func (d *dealing) moveFar(ctx context.Context) error {
	if d.t.link == nil {
		return nil
	}
	var sends, recvs []nccl.Part
	self, size := d.t.c.Rank(), d.t.c.Size()
	add := func(parts []nccl.Part, peer int, p *parcel) []nccl.Part {
		for _, v := range p.far {
			if v.Len > 0 {
				parts = append(parts, nccl.Part{Peer: peer, Vector: v})
			}
		}
		return parts
	}
	for i := 1; i < size; i++ {
		to, from := (self+i)%size, (self+size-i)%size
		sends, recvs = add(sends, to, d.sends[to]), add(recvs, from, d.recvs[from])
	}
	return d.t.link.Exchange(ctx, d.t.stream, d.call.Op, sends, recvs)
}

// rebase subtracts the first of the offsets that came from GPUs, there.
func (d *dealing) rebase(ctx context.Context, p *parcel) error {
	if d.t.link == nil {
		return nil
	}
	next, queued := 0, false
	for at := 0; at < len(p.meta); at += d.each() {
		node := at + 1
		for i, typ := range d.types {
			for end := node + nodeLen*nodes(typ); node < end; node += nodeLen {
				m := p.meta[node : node+nodeLen]
				offsets := next
				for k, n := range m[4:] {
					if n >= 0 {
						next++
						if k == 0 {
							offsets++
						}
					}
				}
				if !d.goes(i) || m[3] == 0 {
					continue
				}
				moved, err := d.t.minus(ctx, p.buffers[offsets], m[0]+m[1]+1, m[3])
				if err != nil {
					return err
				}
				p.buffers[offsets].Release()
				p.buffers[offsets], m[3], queued = moved, 0, true
			}
		}
	}
	if !queued {
		return nil
	}
	return d.t.stream.Wait(ctx)
}

// minus is n offsets on the GPU less the first of them.
func (t *Comm) minus(ctx context.Context, offsets *memory.Buffer, n, first int64) (*memory.Buffer, error) {
	typ := arrow.DataType(arrow.PrimitiveTypes.Int32)
	if offsets.Len() == 8*n {
		typ = arrow.PrimitiveTypes.Int64
	}
	whole, err := memory.NewColumn(memory.Parts{Type: typ, Len: n, Buffers: []*memory.Buffer{nil, offsets.Retain()}})
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	made, err := t.kit.Arithmetic(ctx, t.stream, kernels.Subtract, whole, kernels.Int(typ, first), kernels.ArithmeticOptions{})
	if err != nil {
		return nil, err
	}
	defer made.Release()
	if made.Offset() != 0 || made.Len() != n {
		return nil, device.Errorf(device.ErrMismatch, t.dev.Name(), "offsets of texts", "a difference of %d rows from row %d", made.Len(), made.Offset())
	}
	return made.Buffer(1).Retain(), nil
}
