package ondevice

import (
	"context"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/internal/direct"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
)

// UseNCCL makes NCCL carry what it can from then on. All ranks call it. Each needs the
// same version of the library (VOLLEY_NCCL_LIBRARY, or the system's) and a GPU of its
// own; where one has not, all get an ErrUnavailable that says which rank lacks what, and
// the Comm goes on through the host. The collective.Comm has one communicator for the same
// GPUs, which is closed with it.
func (d *Comm) UseNCCL(ctx context.Context) error {
	return d.do(ctx, operation{call: "use NCCL", run: d.introduce}, nil)
}

// introduce finds the Comm's communicator of the ranks' devices, or makes it.
func (d *Comm) introduce(ctx context.Context) error {
	if d.direct != nil {
		return device.Errorf(device.ErrMismatch, d.b.Device.Name(), "use NCCL", "it is in use already")
	}
	own, err := direct.Find(d.b.Device)
	if err := direct.Everyone(ctx, d.c, 1, err); err != nil {
		return err
	}
	ids := make([]int64, d.c.Size())
	if err := d.c.AllGather(ctx, collective.Of([]int64{own.ID}), collective.Of(ids)); err != nil {
		return err
	}
	link, err := direct.Of(ctx, d.c, own, ids)
	if err == nil {
		d.direct = link
	}
	return err
}

// carries says whether NCCL can have these vectors.
func (d *Comm) carries(vectors ...Vector) bool {
	if d.direct == nil {
		return false
	}
	for _, v := range vectors {
		if v.Buffer.Place() != d.b.Device.Place() {
			return false
		}
	}
	return true
}

// bytes is a window of a vector, in bytes.
func (v *Vector) bytes(off, n int64) nccl.Vector {
	w := int64(v.Type.Width())
	return nccl.Vector{Buffer: v.Buffer, Offset: (v.Offset + off) * w, Len: n * w}
}

// whole is a vector for a call that knows its type.
func (v *Vector) whole() nccl.Vector {
	return nccl.Vector{Buffer: v.Buffer, Offset: v.Offset, Len: v.Len}
}

// carried runs a call of all ranks: they agree that it is the same, and only then NCCL
// hears of it, which does not compare and waits for ever.
func (d *Comm) carried(ctx context.Context, what string, give func(ctx context.Context) error) error {
	return d.beside(ctx, what, func() error { return d.c.Agree(ctx, what) }, give)
}

// exchange is carried for messages.
func (d *Comm) exchange(ctx context.Context, what string, sends, recvs []nccl.Part) error {
	return d.carried(ctx, what, func(ctx context.Context) error {
		return d.direct.Comm.Exchange(ctx, d.stream, nccl.Uint8, sends, recvs)
	})
}

// beside runs a call by NCCL after an agreement, and makes what goes wrong the Fault of
// all ranks.
func (d *Comm) beside(ctx context.Context, what string, agree func() error, give func(ctx context.Context) error) error {
	if err := agree(); err != nil {
		return err
	}
	return d.direct.Beside(ctx, d.stream, what, give)
}
