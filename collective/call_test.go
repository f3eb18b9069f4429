package collective

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/volley-go/volley/device"
)

// A short blocking call asks for no memory, also under a context that can end.
func TestCallsAllocateNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := world(t, 1, Options{})[0]
	v := Of(make([]float32, 2))
	call := func() {
		if err := c.AllReduce(ctx, v, v, Sum); err != nil {
			t.Fatal(err)
		}
	}
	call() // its program is made once
	if n := testing.AllocsPerRun(100, call); n > 0.5 {
		t.Errorf("%v allocations a call", n)
	}
}

// A context that ended after its operation does not touch later ones; one that ends
// during a later operation ends that one, although it was watched before.
func TestContextsOfCallsInARow(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			comms := over(t, open(t, 2), Options{})
			first, end := context.WithCancel(context.Background())
			second, end2 := context.WithCancel(context.Background())
			defer end2()
			both := func(ctx context.Context) {
				t.Helper()
				var all sync.WaitGroup
				for _, c := range comms {
					all.Go(func() {
						if err := c.Barrier(ctx); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			}
			both(first)
			both(second)
			both(first)
			end()
			both(second)
			for _, c := range comms {
				if f := c.Fault(); f != nil {
					t.Fatalf("a context that ended between operations: %v", f)
				}
			}
			go end2()
			err := comms[0].Barrier(second) // the other rank does not come
			if !errors.Is(err, device.ErrCanceled) {
				t.Errorf("the barrier of a context that ends: %v", err)
			}
		})
	}
}

// Turns are in the order of the tickets, whoever comes first.
func TestTurns(t *testing.T) {
	var q turns
	q.init()
	const n = 200
	var order []uint64
	var all sync.WaitGroup
	for range n {
		ticket := q.take()
		all.Go(func() {
			if !q.mine(ticket) {
				q.wait(context.Background(), ticket, nil)
			}
			order = append(order, ticket) // one at a time: it is this goroutine's turn
			q.done()
		})
	}
	all.Wait()
	for i, ticket := range order {
		if ticket != uint64(i) {
			t.Fatalf("turn %d had ticket %d", i, ticket)
		}
	}
	if len(order) != n || q.queued.Load() != 0 || len(q.waiting) != 0 {
		t.Errorf("%d turns, %d in waiting", len(order), q.queued.Load())
	}
}
