package shm

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// crowd is a lane whose ranks share processors with others.
type crowd struct {
	*testing.T
	a, b          *endpoint
	posted, taken uint64
}

func newCrowd(t *testing.T) *crowd {
	ends := group(t, 2)
	c := &crowd{T: t, a: ends[0].Endpoint.(*endpoint), b: ends[1].Endpoint.(*endpoint)}
	t.Cleanup(func() { c.a.Close(); c.b.Close() })
	c.a.crowded, c.a.under, c.a.medium, c.a.adapts = true, underFor(true), longest, false
	return c
}

// message is the next one that is posted, with its header.
func (c *crowd) message(n int) (transport.Header, []byte) {
	c.posted++
	return header(c.posted, n), long(n, int(c.posted))
}

func (c *crowd) post(n int) {
	c.Helper()
	h, v := c.message(n)
	if err := returns(c.T, "Post", func() error { return c.a.Post(1, &h, v) }); err != nil {
		c.Fatal(err)
	}
}

func (c *crowd) take(n int) {
	c.Helper()
	c.taken++
	h, got := header(c.taken, n), make([]byte, n)
	if err := returns(c.T, "Recv", func() error { return c.b.Recv(0, &h, sinkOf(got)) }); err != nil {
		c.Fatal(err)
	}
	if !bytes.Equal(got, long(n, int(c.taken))) {
		c.Errorf("message %d of %d bytes is another one", c.taken, n)
	}
}

// Where ranks share processors few bytes of a ring are under way, but eight messages always, whatever their lengths
// and whatever messages in slots were taken before.
func TestMessagesUnderWay(t *testing.T) {
	c := newCrowd(t)
	for range told - 1 {
		c.post(inline)
	}
	for range told - 1 {
		c.take(inline)
	}
	lengths := []int{longest, longest, longest, longest, longest, longest, longest, 8 << 10}
	for _, n := range lengths {
		c.post(n)
	}
	for _, n := range lengths {
		c.take(n)
	}
	const n = 16 << 10 // of which a ring has 144
	posted := make(chan error, 1)
	go func() {
		for range 100 {
			h, v := c.message(n)
			if err := c.a.Post(1, &h, v); err != nil {
				posted <- err
				return
			}
		}
		posted <- nil
	}()
	select {
	case err := <-posted:
		t.Errorf("%d bytes are under way: %v", 100*n, err)
	case <-time.After(50 * time.Millisecond):
	}
	for range 100 {
		c.take(n)
	}
	if err := <-posted; err != nil {
		t.Fatal(err)
	}
}

// A ring that is empty is begun anew for every message between ranks of one processor, and between those of two when
// a cycle is over.
func TestRingBeginsAnew(t *testing.T) {
	for _, on := range []uint32{1, 2} { // of the receiver; the sender is on 1
		c := newCrowd(t)
		const n = 16 << 10
		c.a.cycle = 3*n + n/2
		c.a.seg.rank(0).on.Store(1)
		c.a.seg.rank(1).on.Store(on)
		var next []int
		for range 5 {
			c.post(n)
			next = append(next, c.a.lanes[1].next/n)
			c.take(n)
			c.a.seg.rank(1).on.Store(on) // a rank that waits says where it is
		}
		want := map[uint32][]int{1: {1, 1, 1, 1, 1}, 2: {1, 2, 3, 1, 2}}[on]
		if !slices.Equal(next, want) {
			t.Errorf("the receiver is on processor %d: messages end at %v, not %v", on, next, want)
		}
	}
}
