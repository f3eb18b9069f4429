package ondevice

import (
	"context"
	"errors"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/internal/direct"
	"github.com/volley-go/volley/collective/internal/queue"
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

// Comm is a collective.Comm for the memory of a device. Its methods may be called from any
// goroutine; its operations are done one after another, in the order in which they were
// called or started, which is the same on all ranks. Until they are done the collective.Comm
// is theirs. All ranks stage or none: devices of one group are of one kind.
type Comm struct {
	c      *collective.Comm
	b      *kernels.Backend
	stream device.Stream
	from   memory.Allocator // of the pinned memory
	pinned [2]*memory.Buffer
	direct *direct.Link // nil where the host carries
	queue  *queue.Queue
}

// New makes one of a communicator and a backend, which stay the caller's.
func New(c *collective.Comm, b *kernels.Backend) (*Comm, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	return &Comm{c: c, b: b, stream: s, from: b.Device.Pinned(), queue: queue.New(c, "the device's Comm")}, nil
}

// Close gives the stream and the pinned memory back. Operations that are not done end with
// ErrClosed, and on the other ranks, and for the collective.Comm, with a Fault that says
// that this one has left; Close waits for them. A second Close does nothing.
func (d *Comm) Close() error {
	if !d.queue.Close() {
		return nil
	}
	d.direct = nil // the collective.Comm's to close
	for i, p := range d.pinned {
		p.Release()
		d.pinned[i] = nil
	}
	return d.stream.Close()
}

// check holds a vector against its buffer, and the buffer against the device.
func (d *Comm) check(call string, v *Vector) error {
	w := int64(v.Type.Width())
	if v.Buffer == nil || w == 0 || v.Offset < 0 || v.Len < 0 || v.Offset > v.Buffer.Len()/w || v.Len > v.Buffer.Len()/w-v.Offset {
		return device.Errorf(device.ErrMismatch, "", call, "%d elements of %s from %d on are not in the buffer", v.Len, v.Type, v.Offset)
	}
	if at, own := v.Buffer.Place(), d.b.Device.Place(); !v.host() && at.Type != own.Type {
		return device.Errorf(device.ErrMismatch, d.b.Device.Name(), call, "a vector is in the memory of %s", at)
	}
	return nil
}

// checks holds vectors against their buffers and a rank against the group.
func (d *Comm) checks(call string, rank int, vectors ...Vector) error {
	for i := range vectors {
		if err := d.check(call, &vectors[i]); err != nil {
			return err
		}
	}
	if rank < 0 || rank >= d.c.Size() {
		return device.Errorf(device.ErrMismatch, "", call, "rank %d is not one of %d", rank, d.c.Size())
	}
	return nil
}

// blocks holds the lengths of two vectors against each other: in has so many blocks for
// so many of out.
func (d *Comm) blocks(call string, in, out Vector, ofIn, ofOut int) error {
	if err := d.checks(call, 0, in, out); err != nil {
		return err
	}
	if in.Type != out.Type || in.Len%int64(ofIn) != 0 || out.Len != in.Len/int64(ofIn)*int64(ofOut) {
		return mismatch(call, in, out)
	}
	return nil
}

func mismatch(call string, in, out Vector) error {
	return device.Errorf(device.ErrMismatch, "", call, "input has %d of %s, output %d of %s", in.Len, in.Type, out.Len, out.Type)
}

func (v *Vector) host() bool { return v.Buffer.Place().HostAccessible() }

// direct is a vector that the host can read.
func (v *Vector) near() (collective.Vector, error) {
	w := int64(v.Type.Width())
	return collective.Raw(v.Type, v.Buffer.Bytes()[v.Offset*w:(v.Offset+v.Len)*w])
}

// room is pinned memory for n elements, kept for the next call.
func (d *Comm) room(i int, t collective.Type, n int64) (collective.Vector, error) {
	bytes := n * int64(t.Width())
	if d.pinned[i] == nil || d.pinned[i].Len() < bytes {
		b, err := memory.New(d.from, bytes)
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
func (d *Comm) staged(ctx context.Context, in, out Vector, have, get bool, run func(in, out collective.Vector) error) error {
	var near [2]collective.Vector
	var err error
	for i, v := range []*Vector{&in, &out} {
		if used := i == 0 && have || i == 1 && get; !used {
			continue
		}
		if v.host() {
			if near[i], err = v.near(); err != nil {
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
	if err := d.finish(ctx, nil); err != nil {
		return err
	}
	if err := run(near[0], near[1]); err != nil {
		return err
	}
	if !get || out.host() {
		return nil
	}
	return d.finish(ctx, d.store(out, 1))
}

// fail tells the other ranks that this one cannot go on. Its error is the Fault that all
// get, and what is wrong with the device.
func (d *Comm) fail(err error) error {
	f := d.c.Report(collective.Fault{Cause: collective.Canceled, Ranks: []int{d.c.Rank()}, Text: fmt.Sprintf("the device of rank %d: %v", d.c.Rank(), err)})
	return errors.Join(f, err)
}
