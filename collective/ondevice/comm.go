package ondevice

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Vector is elements in a buffer, from an offset in elements.
type Vector struct {
	Buffer      *memory.Buffer
	Type        collective.Type
	Offset, Len int64
}

// Comm is a collective.Comm for the memory of a device. One call at a time; all ranks
// make the same calls, and all of them stage or none: devices of one group are of one
// kind.
type Comm struct {
	c      *collective.Comm
	b      *kernels.Backend
	stream device.Stream
	pinned [2]*memory.Buffer
}

// New makes one of a communicator and a backend, which stay the caller's.
func New(c *collective.Comm, b *kernels.Backend) (*Comm, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	return &Comm{c: c, b: b, stream: s}, nil
}

// Close gives the stream and the pinned memory back.
func (d *Comm) Close() error {
	for i, p := range d.pinned {
		p.Release()
		d.pinned[i] = nil
	}
	return d.stream.Close()
}

// check holds a vector against its buffer.
func (v *Vector) check(call string) error {
	w := int64(v.Type.Width())
	if v.Buffer == nil || w == 0 || v.Offset < 0 || v.Len < 0 || v.Offset > v.Buffer.Len()/w || v.Len > v.Buffer.Len()/w-v.Offset {
		return device.Errorf(device.ErrMismatch, "", call, "%d elements of %s from %d on are not in the buffer", v.Len, v.Type, v.Offset)
	}
	return nil
}

func (v *Vector) host() bool { return v.Buffer.Place().HostAccessible() }

// direct is a vector that the host can read.
func (v *Vector) direct() (collective.Vector, error) {
	w := int64(v.Type.Width())
	return collective.Raw(v.Type, v.Buffer.Bytes()[v.Offset*w:(v.Offset+v.Len)*w])
}

// room is pinned memory for n elements, kept for the next call.
func (d *Comm) room(i int, t collective.Type, n int64) (collective.Vector, error) {
	bytes := n * int64(t.Width())
	if d.pinned[i] == nil || d.pinned[i].Len() < bytes {
		b, err := memory.New(d.b.Device.Pinned(), bytes)
		if err != nil {
			return collective.Vector{}, err
		}
		d.pinned[i].Release()
		d.pinned[i] = b
	}
	return collective.Raw(t, d.pinned[i].Bytes()[:bytes])
}

// fetch queues the copy of a vector into pinned memory.
func (d *Comm) fetch(i int, v Vector) error {
	w := int64(v.Type.Width())
	return d.stream.Copy(d.pinned[i], 0, v.Buffer, v.Offset*w, v.Len*w)
}

// store queues the copy of pinned memory into a vector.
func (d *Comm) store(v Vector, i int) error {
	w := int64(v.Type.Width())
	return d.stream.Copy(v.Buffer, v.Offset*w, d.pinned[i], 0, v.Len*w)
}

// staged runs an operation on the host's copies of in and out. have says that this rank
// gives in, get that it gets out.
func (d *Comm) staged(ctx context.Context, call string, in, out Vector, have, get bool, run func(in, out collective.Vector) error) error {
	var near [2]collective.Vector
	var err error
	for i, v := range []*Vector{&in, &out} {
		if used := i == 0 && have || i == 1 && get; !used {
			continue
		}
		if err := v.check(call); err != nil {
			return err
		}
		if v.host() {
			if near[i], err = v.direct(); err != nil {
				return err
			}
			continue
		}
		if near[i], err = d.room(i, v.Type, v.Len); err != nil {
			return d.fail(err)
		}
		if i == 0 {
			if err := d.fetch(0, in); err != nil {
				return d.fail(err)
			}
		}
	}
	if err := d.stream.Wait(ctx); err != nil {
		return d.fail(err)
	}
	if err := run(near[0], near[1]); err != nil {
		return err
	}
	if !get || out.host() {
		return nil
	}
	if err := d.store(out, 1); err != nil {
		return err
	}
	return d.stream.Wait(ctx)
}

// fail tells the other ranks that this one cannot go on.
func (d *Comm) fail(err error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("the device of rank %d: %w", d.c.Rank(), err))
	_ = d.c.Barrier(ctx) // ends with the Fault that all get; err says more
	return err
}

// Broadcast is collective.Comm.Broadcast.
func (d *Comm) Broadcast(ctx context.Context, in, out Vector, root int) error {
	return d.staged(ctx, "Broadcast", in, out, d.c.Rank() == root, true, func(i, o collective.Vector) error { return d.c.Broadcast(ctx, i, o, root) })
}

// AllGather is collective.Comm.AllGather.
func (d *Comm) AllGather(ctx context.Context, in, out Vector) error {
	return d.staged(ctx, "AllGather", in, out, true, true, func(i, o collective.Vector) error { return d.c.AllGather(ctx, i, o) })
}

// AllToAll is collective.Comm.AllToAll.
func (d *Comm) AllToAll(ctx context.Context, in, out Vector) error {
	return d.staged(ctx, "AllToAll", in, out, true, true, func(i, o collective.Vector) error { return d.c.AllToAll(ctx, i, o) })
}

// Gather is collective.Comm.Gather.
func (d *Comm) Gather(ctx context.Context, in, out Vector, root int) error {
	return d.staged(ctx, "Gather", in, out, true, d.c.Rank() == root, func(i, o collective.Vector) error { return d.c.Gather(ctx, i, o, root) })
}

// Scatter is collective.Comm.Scatter.
func (d *Comm) Scatter(ctx context.Context, in, out Vector, root int) error {
	return d.staged(ctx, "Scatter", in, out, d.c.Rank() == root, true, func(i, o collective.Vector) error { return d.c.Scatter(ctx, i, o, root) })
}

// Send is collective.Comm.Send.
func (d *Comm) Send(ctx context.Context, v Vector, to int) error {
	return d.staged(ctx, "Send", v, Vector{}, true, false, func(i, _ collective.Vector) error { return d.c.Send(ctx, i, to) })
}

// Recv is collective.Comm.Recv.
func (d *Comm) Recv(ctx context.Context, v Vector, from int) error {
	return d.staged(ctx, "Recv", Vector{}, v, false, true, func(_, o collective.Vector) error { return d.c.Recv(ctx, o, from) })
}
