package collective

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
)

// blamed is an endpoint that looks whom an error of each of its calls would be blamed on.
type blamed struct {
	transport.Endpoint
	comm *Comm

	mu    sync.Mutex
	calls int
	wrong []string
}

func (b *blamed) look(call string, rank int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if at := b.comm.now.waiting(); at != rank {
		b.wrong = append(b.wrong, fmt.Sprintf("%s of rank %d with rank %d would be blamed on rank %d", call, b.Rank(), rank, at))
	}
}

func (b *blamed) Post(to int, h *transport.Header, payload []byte) error {
	b.look("Post", to)
	return b.Endpoint.Post(to, h, payload)
}

func (b *blamed) Flush(to int) error {
	b.look("Flush", to)
	return b.Endpoint.Flush(to)
}

func (b *blamed) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	b.look("Recv", from)
	return b.Endpoint.Recv(from, want, sink)
}

// A Fault names the rank that the operation said it turned to last. So each call of a transport is announced, in every operation by
// every algorithm, in what confirms it, in groups of messages and in agreements.
func TestEveryMessageIsBlamedOnItsRank(t *testing.T) {
	const size = 4
	watched := func(t *testing.T, o Options, f func(comms []*Comm)) {
		ends, looks := inproc.New(size), make([]*blamed, size)
		for r, e := range ends {
			looks[r] = &blamed{Endpoint: e}
			ends[r] = looks[r]
		}
		comms := over(t, ends, o)
		for r, c := range comms {
			looks[r].comm = c
		}
		f(comms)
		for _, b := range looks {
			b.mu.Lock()
			require.Empty(t, b.wrong)
			require.NotZero(t, b.calls)
			b.mu.Unlock()
		}
	}
	for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
		for _, a := range algorithm.For(op) {
			t.Run(fmt.Sprintf("%s/%s", op, a.Name), func(t *testing.T) {
				watched(t, Options{Algorithms: map[algorithm.Op]string{op: a.Name}, Chunk: 512}, func(comms []*Comm) {
					if op == algorithm.Barrier {
						must(t, comms, func(c *Comm) error { return c.Barrier(context.Background()) })
						return
					}
					for _, n := range []int64{0, 13, 20011, 20011} {
						operation[int32](t, comms, op, n)
					}
				})
			})
		}
	}
	t.Run("blocks of unequal lengths", func(t *testing.T) { watched(t, Options{}, func(comms []*Comm) { unequalBlocks(t, comms) }) })
	t.Run("a group of messages", func(t *testing.T) {
		watched(t, Options{}, func(comms []*Comm) {
			must(t, comms, func(c *Comm) error {
				var group []Transfer
				for r := range size {
					if r != c.Rank() {
						group = append(group, Transfer{Peer: r, Data: Of(make([]int32, 9))}, Transfer{Peer: r, Data: Of(make([]int32, 9)), Recv: true})
					}
				}
				return c.Exchange(context.Background(), group)
			})
		})
	})
	t.Run("agreement", func(t *testing.T) {
		watched(t, Options{}, func(comms []*Comm) {
			must(t, comms, func(c *Comm) error { return c.Agree(context.Background(), "alike") })
		})
	})
}

// broken is an endpoint whose flushes to one rank fail, as they do where that one dies before it reads.
type broken struct {
	transport.Endpoint
	to  int
	err error
}

func (b *broken) Flush(to int) error {
	if to == b.to {
		return b.err
	}
	return b.Endpoint.Flush(to)
}

// A rank that is lost while the ranks confirm a call is the one that the Fault names, not the one that was heard last.
func TestConfirmingNamesTheRankThatIsLost(t *testing.T) {
	const lost, root = 2, 3
	for call, make := range rooted {
		for _, step := range []int{1, 2} { // ranks tell the next one first, and the one behind it then
			t.Run(fmt.Sprintf("%s/%d", call, step), func(t *testing.T) {
				ends := inproc.New(4)
				by := lost - step
				ends[by] = &broken{Endpoint: ends[by], to: lost, err: &device.Error{Call: "Flush", Kind: device.ErrLost, Text: "its connection ended"}}
				linear := map[algorithm.Op]string{algorithm.Broadcast: "linear", algorithm.Reduce: "linear", algorithm.Gather: "linear", algorithm.Scatter: "linear"}
				comms := over(t, ends, Options{Algorithms: linear, Deadline: limit})
				errs := each(t, comms, func(c *Comm) error { return make(t.Context(), c, newVectors(c), root) })
				var f *Fault
				require.ErrorAs(t, errs[by], &f)
				require.Equal(t, []int{lost}, f.Ranks, "%v", f)
				require.Equal(t, by, f.By, "%v", f)
			})
		}
	}
}
