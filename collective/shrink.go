package collective

import (
	"context"
	"errors"

	"github.com/volley-go/volley/device"
)

// Shrink makes a Comm of the ranks that survived the Fault and are still there, in their
// old order. All survivors call it; the old Comm stays closed for work and should be
// closed, by each rank after it has the new one. The survivors agree on who they are: one
// that is lost, or closes the old Comm, before the new one is there is left out, and all
// others get the same Comm.
//
// A survivor that lives and does not call Shrink is waited for until ctx's deadline, or,
// where it has none, for Options.Deadline: then the error is a Fault by Timeout, which
// names it, and Shrink may be called again. A rank that the others have judged lost, since
// it was stopped for longer than the deadline, gets an ErrLost that says so, and never a
// Comm of its own.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	f := c.Fault()
	if f == nil {
		return nil, device.Errorf(device.ErrUnsupported, "", "Shrink", "the Comm has no fault: use Sub")
	}
	o := c.watch.shrink(ctx)
	if o.err != nil {
		return nil, o.err
	}
	small, err := newComm(o.group.ends, c.options, c.name+"/"+o.group.name, o.at)
	if err != nil {
		return nil, errors.Join(err, o.group.ends.Close())
	}
	return small, nil
}

// shrink takes a seat in the council until it has decided, or ctx ends.
func (w *watch) shrink(ctx context.Context) outcome {
	closed := outcome{err: &device.Error{Call: "Shrink", Kind: device.ErrClosed, Cause: errClosed}}
	s := &seat{ctx: ctx, result: make(chan outcome, 1)}
	if !w.call(func() { w.council.enter(s) }) {
		return closed
	}
	ended := ctx.Done()
	for {
		select {
		case o := <-s.result:
			return o
		case <-w.over:
			select { // it may have been the last that the watch did
			case o := <-s.result:
				return o
			default:
				return closed
			}
		case <-ended:
			ended = nil
			w.call(func() { w.council.abandon(s) })
		}
	}
}

// abandon ends a Shrink whose context has ended.
func (n *council) abandon(s *seat) {
	if n.seat != s {
		return
	}
	text := ""
	if absent := n.absent(); len(absent) > 0 {
		text = rankList(absent) + " did not come"
	}
	n.leave(s, &device.Error{Call: "Shrink", Kind: device.ErrUnavailable, Text: text, Cause: context.Cause(s.ctx)})
}
