package mixed

import (
	"context"
	"errors"
	"fmt"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
)

// Join connects this rank with all others of its world, all of which call it: over TCP, as
// tcp.Join does, and then those that reach the same memory through that. Where no two ranks
// do, the endpoint is TCP's; where all do, it is the one of shared memory, and TCP's is
// closed. Ranks that should reach each other's memory and cannot use it stay with TCP:
// Describe says why. Ranks that do not come before the context ends are named in the error.
//
// Options.Reach, if it is empty, is shm.Reach.
func Join(ctx context.Context, w rendezvous.World, o tcp.Options) (transport.Endpoint, error) {
	if o.Reach == "" {
		o.Reach = shm.Reach()
	}
	if o.Reach == "" {
		o.Reach = tcp.Nowhere
	}
	ends, err := tcp.Join(ctx, w, o)
	if err != nil {
		return nil, err
	}
	names := make([]int, w.Size)
	for r := range names {
		names[r] = r
	}
	return attach(ctx, ends.(far), names)
}

// attach joins the ranks of an endpoint, which it takes over, that are near each other. To
// the caller the ranks have those names.
func attach(ctx context.Context, f far, names []int) (transport.Endpoint, error) {
	groups := f.Near()
	size := map[int]int{}
	most := 0
	for _, g := range groups {
		if g >= 0 {
			size[g]++
			most = max(most, size[g])
		}
	}
	if most < 2 {
		return f, nil
	}
	e := newEndpoint(f)
	if own := groups[e.Rank()]; own >= 0 && size[own] > 1 {
		var members []int
		for r, g := range groups {
			if g == own {
				members = append(members, r)
			}
		}
		if err := e.join(ctx, own, members, names); err != nil {
			return nil, errors.Join(fmt.Errorf("mixed: %w", err), e.Close())
		}
	}
	if e.near != nil && e.near.Size() == e.Size() {
		near := e.near
		e.mu.Lock()
		e.near = nil // it is not closed with the rest
		e.mu.Unlock()
		if err := e.Close(); err != nil {
			return nil, errors.Join(fmt.Errorf("mixed: %w", err), near.Close())
		}
		return near, nil
	}
	e.start()
	return e, nil
}
