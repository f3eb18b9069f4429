package mesh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

const limit = 2 * time.Minute

func listener(t testing.TB) net.Listener {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln
}

// options are those of the nodes of a new gang.
func options(size int, apart bool) Options {
	o := Options{Size: size, Generation: 3, Key: []byte("a key that nobody else knows"), Lease: 5 * time.Second, Apart: apart}
	_, _ = rand.Read(o.Run[:])
	return o
}

// gang has the hub and the workers of a new gang.
func gang(t testing.TB, o Options) (*Node, []*Node) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	h := o
	h.Listener = listener(t)
	hub := Open(h)
	nodes, errs := make([]*Node, o.Size), make([]error, o.Size)
	var all sync.WaitGroup
	for r := range nodes {
		w := o
		w.Rank, w.Listener = r, listener(t)
		w.Card = fmt.Appendf(nil, "card %d", r)
		all.Go(func() {
			if nodes[r], errs[r] = Join(ctx, w, h.Listener.Addr().String()); errs[r] != nil {
				cancel() // the others would wait for it
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	t.Cleanup(func() {
		for _, n := range nodes {
			require.NoError(t, n.Close())
		}
		require.NoError(t, hub.Close())
	})
	return hub, nodes
}

// A group's ends are a transport like any other, over connections and within a process.
func TestTransport(t *testing.T) {
	for _, apart := range []bool{true, false} {
		t.Run(fmt.Sprintf("apart=%t", apart), func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
				_, nodes := gang(t, options(n, apart))
				ranks := make([]int, n)
				for r := range ranks {
					ranks[r] = r
				}
				ends := make([]transporttest.End, n)
				for r, node := range nodes {
					e, err := node.Group("all", ranks)
					require.NoError(t, err)
					ends[r] = transporttest.End{Endpoint: e}
					if apart {
						ends[r].Kill = node.Kill
					}
				}
				return ends
			})
		})
	}
}

func each(nodes []*Node, f func(n *Node) error) error {
	errs := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() { errs <- f(n) }()
	}
	var first error
	for range nodes {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Who comes leases after the first one finds all others there, and is not given up itself.
func TestLateComer(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	o := options(2, true)
	o.Lease = 500 * time.Millisecond
	h := o
	h.Listener = listener(t)
	hub := Open(h)
	var nodes [2]*Node
	var errs [2]error
	var all sync.WaitGroup
	for r := range nodes {
		w := o
		w.Rank, w.Listener = r, listener(t)
		all.Go(func() {
			time.Sleep(time.Duration(r) * 5 * o.Lease / 2)
			nodes[r], errs[r] = Join(ctx, w, h.Listener.Addr().String())
		})
	}
	all.Wait()
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	for r := range nodes {
		require.Nil(t, hub.Gone(r))
		require.Nil(t, nodes[r].Gone(1-r))
	}
	e, err := nodes[0].Group("both", []int{0, 1})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	for _, n := range append(nodes[:], hub) {
		require.NoError(t, n.Close())
	}
}

// connections are how many ends of them the nodes of a gang have.
func connections(hub *Node, nodes []*Node) (n int) {
	for _, node := range append([]*Node{hub}, nodes...) {
		node.mu.Lock()
		n += len(node.links)
		node.mu.Unlock()
	}
	return n
}

// asks are the questions that the nodes of a gang have asked each other.
func asks(nodes []*Node) (n uint64) {
	for _, node := range nodes {
		n += node.Asks()
	}
	return n
}

// Making a group of 64 opens no connection and asks nobody, and its ends carry messages over connections that are made as they are needed, once for all groups.
func TestManyGroups(t *testing.T) {
	const size, rounds = 64, 3
	hub, nodes := gang(t, options(size, true))
	ranks := make([]int, size)
	for r := range ranks {
		ranks[r] = r
	}
	there := connections(hub, nodes)
	require.Equal(t, 2*size, there) // of each to the hub, both ends
	quickest := limit
	for round := range rounds {
		ends := make([]transport.Endpoint, size)
		began := time.Now()
		require.NoError(t, each(nodes, func(n *Node) (err error) {
			ends[n.Rank()], err = n.Group(fmt.Sprint("round ", round), ranks)
			return err
		}))
		quickest = min(quickest, time.Since(began))
		require.Equal(t, there, connections(hub, nodes))
		require.Zero(t, asks(nodes))
		require.NoError(t, each(nodes, func(n *Node) error {
			e := ends[n.Rank()]
			next, before := (n.Rank()+1)%size, (n.Rank()+size-1)%size
			h := transport.Header{Seq: 1, Len: 8}
			if err := e.Post(next, &h, []byte{byte(n.Rank()), 2, 3, 4, 5, 6, 7, byte(round)}); err != nil {
				return err
			}
			got := make([]byte, 8)
			if err := e.Recv(before, &h, &transport.Sink{Into: got}); err != nil {
				return err
			}
			if got[0] != byte(before) || got[7] != byte(round) {
				return fmt.Errorf("rank %d has %v", n.Rank(), got)
			}
			return nil
		}))
		for _, e := range ends {
			require.NoError(t, e.Close())
		}
		if round == 0 { // a ring of connections has come, which stays
			there += 2 * size
		}
		require.Equal(t, there, connections(hub, nodes))
	}
	t.Logf("a group of %d after %v, the quickest of %d", size, quickest, rounds)
}
