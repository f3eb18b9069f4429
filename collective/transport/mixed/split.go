package mixed

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective/transport"
)

// Split of near ranks alone is one of shared memory; others meet over TCP as a world does.
func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	if e.near == nil || slices.ContainsFunc(members, func(m int) bool { return !slices.Contains(e.members, m) }) {
		ends, err := e.far.Split(ctx, name, members)
		if err != nil {
			return nil, err
		}
		return attach(ctx, ends.(far), members)
	}
	places := make([]int, len(members))
	for i, m := range members {
		places[i] = slices.Index(e.members, m)
	}
	ends, err := e.near.Split(ctx, name, places)
	if err != nil {
		return nil, fmt.Errorf("split %q through shared memory: %w", name, err)
	}
	return ends, nil
}
