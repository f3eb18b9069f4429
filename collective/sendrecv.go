package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/release"
)

// Transfer is one side of a message between two ranks, part of a group.
type Transfer struct {
	Peer int
	Data Vector
	Recv bool // else Send
}

// Send gives a vector to another rank, which calls Recv. It returns when the
// vector may be changed.
func (c *Comm) Send(ctx context.Context, v Vector, to int) error {
	return c.Exchange(ctx, []Transfer{{Peer: to, Data: v}})
}

// Recv takes a vector from another rank, which calls Send with one of the same type
// and length.
func (c *Comm) Recv(ctx context.Context, v Vector, from int) error {
	return c.Exchange(ctx, []Transfer{{Peer: from, Data: v, Recv: true}})
}

// Exchange does all sends and receives of a group at once, so that groups of
// several ranks that need each other cannot wait in a circle. Messages between two
// ranks are matched in the order of the calls, and within one in the group's order.
// Only the ranks that send and receive call it. A rank may not be its own peer.
func (c *Comm) Exchange(ctx context.Context, group []Transfer) error {
	if err := c.checkTransfers(group); err != nil {
		return err
	}
	return c.turn(ctx, c.turns.take(), transfers(group))
}

func (c *Comm) checkTransfers(group []Transfer) error {
	for i, t := range group {
		if t.Peer < 0 || t.Peer >= c.Size() || t.Peer == c.Rank() {
			return device.Errorf(device.ErrMismatch, "", "SendRecv", "transfer %d: rank %d has no peer %d among %d ranks", i, c.Rank(), t.Peer, c.Size())
		}
	}
	return nil
}

// transfers are a group's work.
type transfers []Transfer

func (transfers) op() algorithm.Op { return sendRecv }

func (g transfers) run(c *Comm) error {
	c.seq-- // other ranks do not count it
	for batch, more := 0, true; more; batch++ {
		var err error
		if more, err = c.batch(g, batch); err != nil {
			return err
		}
	}
	release.Store64(&c.now.words[inSeq], c.seq)
	return nil
}

// room is how many messages a lane certainly holds before one is received.
const room = 8

// batch does the part of a group that lanes have room for: of every peer the
// transfers [batch*room, (batch+1)*room) in each direction, which are the same ones
// on the peer's side. more says that there are later ones.
func (c *Comm) batch(group []Transfer, batch int) (more bool, err error) {
	type direction struct {
		peer int
		recv bool
	}
	place := map[direction]int{} // transfers seen
	var recvs []Transfer
	var last Transfer // of those that are sent
	for _, t := range group {
		lane := direction{t.Peer, t.Recv}
		i := place[lane]
		place[lane]++
		more = more || i >= (batch+1)*room
		if i/room != batch {
			continue
		}
		if t.Recv {
			recvs = append(recvs, t)
			continue
		}
		n := c.pairs[0][t.Peer].Load() + 1
		release.Store64(&c.pairs[0][t.Peer], n)
		c.now.transfer(t)
		if err := c.post(t.Peer, pairHeader(n, t.Data), t.Data.bytes); err != nil {
			return false, err
		}
		last = t
	}
	for _, t := range recvs {
		n := c.pairs[1][t.Peer].Load() + 1
		release.Store64(&c.pairs[1][t.Peer], n)
		c.now.transfer(t)
		c.now.on(t.Peer)
		if err := c.ends.Recv(t.Peer, pairHeader(n, t.Data), &transport.Sink{Into: t.Data.bytes}); err != nil {
			return false, err
		}
		c.now.moved()
		c.tally.received.add(int64(len(t.Data.bytes)))
	}
	c.now.transfer(last) // a flush waits for what was sent
	return more, c.flush()
}

// pairHeader numbers the messages of a lane; the Comm's own numbers are those of
// calls that all ranks make.
func pairHeader(n uint64, v Vector) *transport.Header {
	return &transport.Header{Seq: n, Len: int64(len(v.bytes)), Call: transport.Call{Op: uint8(sendRecv), Type: uint8(v.typ), Count: v.Len()}}
}
