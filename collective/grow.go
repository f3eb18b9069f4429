package collective

import (
	"context"
	"errors"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// Meeting opens a rank's end of a group that meets: of a transport's Join with the
// address where all of them, also those that are new, find each other. It ends with its
// context, and names the ranks that did not come.
type Meeting func(ctx context.Context, rank, size int) (transport.Endpoint, error)

// Grow admits ranks to a Comm, such as replacements after a Shrink. All its ranks call
// it: there is a barrier, then they meet the ranks that are new, and the Comm of all is
// returned when all are in. The ranks keep their numbers; who is new, and calls Enter
// with the same size and options, has those from the old size on. When somebody does
// not come before ctx ends, or, where it has no deadline, for Options.JoinTimeout, there is no
// new Comm and the old one goes on; else it should be closed. A rank that is to replace
// another may take minutes to start, so Options.Deadline, by which ranks that run are judged, is no
// bound for it. After Options.Stall the waiting is reported, with the ranks that have not come
// where the meeting says them (rendezvous.Watching).
func (c *Comm) Grow(ctx context.Context, size int, meet Meeting) (*Comm, error) {
	if meet == nil {
		return nil, device.Errorf(device.ErrMismatch, "", "Grow", "there is no Meeting")
	}
	if size <= c.Size() {
		return nil, device.Errorf(device.ErrMismatch, "", "Grow", "%d ranks are to become %d", c.Size(), size)
	}
	// The size is agreed on, so that nobody waits for ranks that others do not expect.
	ends := []int64{int64(size), int64(-size)}
	if err := c.AllReduce(ctx, Of(ends), Of(ends), Max); err != nil {
		return nil, err
	}
	if ends[0] != -ends[1] {
		return nil, device.Errorf(device.ErrMismatch, "", "Grow", "the ranks want from %d to %d ranks, this one %d", -ends[1], ends[0], size)
	}
	return admit(ctx, c.Rank(), size, c.Size(), meet, c.options, c.name+"/grown", c.waited)
}

// Enter makes a rank that is new a member of a Comm whose ranks call Grow. The rank is
// one from the old size on. It waits for the others as long as Grow does.
func Enter(ctx context.Context, rank, size int, meet Meeting, options Options) (*Comm, error) {
	if meet == nil {
		return nil, device.Errorf(device.ErrMismatch, "", "Enter", "there is no Meeting")
	}
	if rank < 0 || rank >= size {
		return nil, device.Errorf(device.ErrMismatch, "", "Enter", "rank %d of %d", rank, size)
	}
	if err := options.tune(); err != nil {
		return nil, err
	}
	return admit(ctx, rank, size, 0, meet, options, "world/grown", func() {})
}

// admit has a rank meet the others. first is one that may be late.
func admit(ctx context.Context, rank, size, first int, meet Meeting, options Options, name string, waited func()) (*Comm, error) {
	ends, err := options.meetAs(ctx, "Grow", name, rank, size, first, waited, func(ctx context.Context) (transport.Endpoint, error) { return meet(ctx, rank, size) })
	if err != nil {
		return nil, &device.Error{Call: "Grow", Kind: device.ErrUnavailable, Cause: err}
	}
	if ends.Rank() != rank || ends.Size() != size {
		return nil, errors.Join(device.Errorf(device.ErrMismatch, "", "Grow", "the meeting makes rank %d of %d, not %d of %d", ends.Rank(), ends.Size(), rank, size), ends.Close())
	}
	c, err := newComm(ends, options, name, time.Now())
	if err != nil {
		return nil, errors.Join(err, ends.Close())
	}
	if err := c.Barrier(ctx); err != nil { // all are in, or it did not come about
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
