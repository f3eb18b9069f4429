package nccl

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/memory"
)

// Vector is elements in a buffer of the GPU, from an offset in elements.
type Vector struct {
	Buffer      *memory.Buffer
	Offset, Len int64
}

// Part is a message of an Exchange.
type Part struct {
	Peer   int
	Vector Vector
}

// check holds a vector against its buffer and the GPU, and gives its address.
func (c *Comm) check(call string, t Type, v Vector) (uintptr, error) {
	w := t.Width()
	if v.Buffer == nil || w == 0 || v.Offset < 0 || v.Len < 0 || v.Offset > v.Buffer.Len()/w || v.Len > v.Buffer.Len()/w-v.Offset {
		return 0, device.Errorf(device.ErrMismatch, c.device.Name(), call, "%d elements of %d bytes from %d on are not in the buffer", v.Len, w, v.Offset)
	}
	if v.Buffer.Place() != c.device.Place() {
		return 0, device.Errorf(device.ErrMismatch, c.device.Name(), call, "a buffer in %v", v.Buffer.Place())
	}
	base, offset := v.Buffer.Handle()
	return base + uintptr(offset) + uintptr(v.Offset*w), nil
}

// work is one call of the library, on addresses.
type work func(from, to uintptr, comm, stream handle) result

// move gives a call with one vector in and one out to a stream.
func (c *Comm) move(ctx context.Context, s device.Stream, call string, t Type, in, out Vector, root int, do work) error {
	if root < 0 || root >= c.size {
		return device.Errorf(device.ErrMismatch, c.device.Name(), call, "root %d is not one of %d ranks", root, c.size)
	}
	from, err := c.check(call, t, in)
	if err != nil {
		return err
	}
	to, err := c.check(call, t, out)
	if err != nil {
		return err
	}
	return c.enqueue(ctx, s, call, []*memory.Buffer{in.Buffer, out.Buffer}, func(stream handle) result { return do(from, to, *c.cell, stream) })
}

// enqueue gives work to a stream. It returns when the library has, which in the first
// operation waits for the other ranks.
func (c *Comm) enqueue(ctx context.Context, s device.Stream, call string, held []*memory.Buffer, do func(stream handle) result) error {
	if e := c.ended.Load(); e != nil {
		return e
	}
	err := cuda.Native(s, call, held, func(stream uintptr) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e := c.ended.Load(); e != nil {
			return e
		}
		return c.settle(ctx, call, do(stream))
	})
	if err != nil {
		return c.failed(err)
	}
	return nil
}

func (c *Comm) lengths(call string, in, out, want int64) error {
	if in == want {
		return nil
	}
	return device.Errorf(device.ErrMismatch, c.device.Name(), call, "the input has %d elements, the output %d, of %d ranks", in, out, c.size)
}

// AllReduce combines the vectors of all ranks into the out of each, which may be its in.
func (c *Comm) AllReduce(ctx context.Context, s device.Stream, t Type, in, out Vector, op Op) error {
	const call = "ncclAllReduce"
	if err := c.lengths(call, in.Len, out.Len, out.Len); err != nil {
		return err
	}
	return c.move(ctx, s, call, t, in, out, 0, func(from, to uintptr, comm, stream handle) result {
		return c.driver.allReduce(from, to, in.Len, t, op, comm, stream)
	})
}

// Reduce combines them into the root's out, which may be its in; others' out is not
// looked at.
func (c *Comm) Reduce(ctx context.Context, s device.Stream, t Type, in, out Vector, op Op, root int) error {
	const call = "ncclReduce"
	if c.rank != root {
		out = in
	}
	if err := c.lengths(call, in.Len, out.Len, out.Len); err != nil {
		return err
	}
	return c.move(ctx, s, call, t, in, out, root, func(from, to uintptr, comm, stream handle) result {
		return c.driver.reduce(from, to, in.Len, t, op, root, comm, stream)
	})
}

// ReduceScatter combines them and gives rank r the r-th of Size equal blocks.
func (c *Comm) ReduceScatter(ctx context.Context, s device.Stream, t Type, in, out Vector, op Op) error {
	const call = "ncclReduceScatter"
	if err := c.lengths(call, in.Len, out.Len, out.Len*int64(c.size)); err != nil {
		return err
	}
	return c.move(ctx, s, call, t, in, out, 0, func(from, to uintptr, comm, stream handle) result {
		return c.driver.reduceScatter(from, to, out.Len, t, op, comm, stream)
	})
}

// Broadcast gives every rank the root's in; others' in is not looked at.
func (c *Comm) Broadcast(ctx context.Context, s device.Stream, t Type, in, out Vector, root int) error {
	const call = "ncclBroadcast"
	if c.rank != root {
		in = out
	}
	if err := c.lengths(call, in.Len, out.Len, out.Len); err != nil {
		return err
	}
	return c.move(ctx, s, call, t, in, out, root, func(from, to uintptr, comm, stream handle) result {
		return c.driver.broadcast(from, to, out.Len, t, root, comm, stream)
	})
}

// AllGather gives every rank the vectors of all, in the order of ranks.
func (c *Comm) AllGather(ctx context.Context, s device.Stream, t Type, in, out Vector) error {
	const call = "ncclAllGather"
	if err := c.lengths(call, out.Len, in.Len, in.Len*int64(c.size)); err != nil {
		return err
	}
	return c.move(ctx, s, call, t, in, out, 0, func(from, to uintptr, comm, stream handle) result {
		return c.driver.allGather(from, to, in.Len, t, comm, stream)
	})
}

// Exchange sends and receives in one group: AllToAll, Gather, Scatter and single
// messages. A rank's own messages to itself are paired in order like others'.
func (c *Comm) Exchange(ctx context.Context, s device.Stream, t Type, sends, recvs []Part) error {
	const call = "ncclSend, ncclRecv"
	var held []*memory.Buffer
	at := make([]uintptr, 0, len(sends)+len(recvs))
	for i, p := range append(append([]Part(nil), sends...), recvs...) {
		address, err := c.check(call, t, p.Vector)
		if err != nil {
			return err
		}
		if p.Peer < 0 || p.Peer >= c.size {
			return device.Errorf(device.ErrMismatch, c.device.Name(), call, "message %d: %d is not one of %d ranks", i, p.Peer, c.size)
		}
		at, held = append(at, address), append(held, p.Vector.Buffer)
	}
	return c.enqueue(ctx, s, call, held, func(stream handle) result {
		r := c.driver.groupStart()
		if r != success {
			return r
		}
		for i, p := range sends {
			if r == success || r == inProgress {
				r = c.driver.send(at[i], p.Vector.Len, t, p.Peer, *c.cell, stream)
			}
		}
		for i, p := range recvs {
			if r == success || r == inProgress {
				r = c.driver.recv(at[len(sends)+i], p.Vector.Len, t, p.Peer, *c.cell, stream)
			}
		}
		if end := c.driver.groupEnd(); r == success || r == inProgress {
			r = end
		}
		return r
	})
}
