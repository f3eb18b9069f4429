package ondevice

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
)

// Transfer is one side of a message between two ranks, part of a group.
type Transfer struct {
	Peer int
	Data Vector
	Recv bool // else Send
}

// Send is collective.Comm.Send.
func (d *Comm) Send(ctx context.Context, v Vector, to int) error {
	return d.Exchange(ctx, []Transfer{{Peer: to, Data: v}})
}

// Recv is collective.Comm.Recv.
func (d *Comm) Recv(ctx context.Context, v Vector, from int) error {
	return d.Exchange(ctx, []Transfer{{Peer: from, Data: v, Recv: true}})
}

// Exchange is collective.Comm.Exchange: all sends and receives of a group at once, called
// by the ranks that send and receive only. A rank may not be its own peer.
func (d *Comm) Exchange(ctx context.Context, group []Transfer) error {
	o, err := d.exchanges(group)
	return d.do(ctx, o, err)
}

func (d *Comm) exchanges(group []Transfer) (operation, error) {
	const call = "SendRecv"
	o := operation{call: call}
	for i, t := range group {
		if err := d.checks(call, 0, t.Data); err != nil {
			return o, err
		}
		if t.Peer < 0 || t.Peer >= d.c.Size() || t.Peer == d.c.Rank() {
			return o, device.Errorf(device.ErrMismatch, "", call, "transfer %d: rank %d has no peer %d among %d ranks", i, d.c.Rank(), t.Peer, d.c.Size())
		}
		o.vectors = append(o.vectors, t.Data)
	}
	o.run = func(ctx context.Context) error {
		if d.carries(o.vectors...) {
			return d.directly(ctx, call, group)
		}
		return d.throughHost(ctx, group)
	}
	return o, nil
}

// align is where a message begins in staging memory.
const align = 64

// throughHost stages a group's messages side by side, those that are sent in the first
// pinned buffer and those that come in the second.
func (d *Comm) throughHost(ctx context.Context, group []Transfer) error {
	var lengths [2]int64
	places := make([]int64, len(group))
	for i, t := range group {
		if n := &lengths[side(t)]; !t.Data.host() {
			places[i] = *n
			*n += (t.Data.Len*int64(t.Data.Type.Width()) + align - 1) / align * align
		}
	}
	if _, _, err := d.rooms(collective.Uint8, lengths[0], lengths[1]); err != nil {
		return d.fail(err)
	}
	near := make([]collective.Transfer, len(group))
	for i, t := range group {
		var err error
		near[i] = collective.Transfer{Peer: t.Peer, Recv: t.Recv}
		if t.Data.host() {
			near[i].Data, err = t.Data.near()
		} else {
			w := int64(t.Data.Type.Width())
			near[i].Data, err = collective.Raw(t.Data.Type, d.pinned[side(t)].Bytes()[places[i]:places[i]+t.Data.Len*w])
			if err == nil && !t.Recv {
				err = d.stream.Copy(d.pinned[0], places[i], t.Data.Buffer, t.Data.Offset*w, t.Data.Len*w)
			}
		}
		if err != nil {
			return d.fail(err)
		}
	}
	if err := d.finish(ctx, nil); err != nil {
		return err
	}
	if err := d.c.Exchange(ctx, near); err != nil {
		return err
	}
	for i, t := range group {
		if w := int64(t.Data.Type.Width()); t.Recv && !t.Data.host() {
			if err := d.stream.Copy(t.Data.Buffer, t.Data.Offset*w, d.pinned[1], places[i], t.Data.Len*w); err != nil {
				return d.fail(err)
			}
		}
	}
	return d.finish(ctx, nil)
}

func side(t Transfer) int {
	if t.Recv {
		return 1
	}
	return 0
}

// directly has NCCL carry a group, after the ranks told their peers what they send.
func (d *Comm) directly(ctx context.Context, call string, group []Transfer) error {
	said := make([][]int64, len(group))
	tell := make([]collective.Transfer, len(group))
	var sends, recvs []nccl.Part
	for i, t := range group {
		said[i] = []int64{t.Data.Len, int64(t.Data.Type)}
		tell[i] = collective.Transfer{Peer: t.Peer, Data: collective.Of(said[i]), Recv: t.Recv}
		p := nccl.Part{Peer: t.Peer, Vector: t.Data.bytes(0, t.Data.Len)}
		if t.Recv {
			recvs = append(recvs, p)
		} else {
			sends = append(sends, p)
		}
	}
	return d.beside(ctx, call, func() error {
		if err := d.c.Exchange(ctx, tell); err != nil {
			return err
		}
		for i, t := range group {
			if n, typ := said[i][0], collective.Type(said[i][1]); n != t.Data.Len || typ != t.Data.Type {
				return d.c.Report(collective.Fault{Cause: collective.Mismatch, Op: call, Ranks: []int{d.c.Rank(), t.Peer},
					Text: fmt.Sprintf("rank %d sends %d %s, rank %d receives %d %s", t.Peer, n, typ, d.c.Rank(), t.Data.Len, t.Data.Type)})
			}
		}
		return nil
	}, func(ctx context.Context) error {
		return d.direct.Comm.Exchange(ctx, d.stream, nccl.Uint8, sends, recvs)
	})
}
