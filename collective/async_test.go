package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
)

// Every operation can be started, and be part of a group; they are done in order, and counts
// may change as soon as a call has returned.
func TestEveryOperationAsync(t *testing.T) {
	const ranks = 3
	comms := world(t, ranks, Options{})
	ctx := context.Background()
	must(t, comms, func(c *Comm) error {
		me := int64(c.Rank())
		next, prev := (c.Rank()+1)%ranks, (c.Rank()+2)%ranks
		own := []int64{me, 10 + me, 20 + me}
		counts := []int64{1, 2, 3}
		starts := []int64{0, 1, 3}
		part := Of(slices.Repeat([]int64{me}, int(counts[me])))
		type result struct {
			got, want []int64
			only      int // the rank that has it, or -1
		}
		var all []result
		room := func(only int, want ...int64) Vector {
			got := make([]int64, len(want))
			all = append(all, result{got, want, only})
			return Of(got)
		}
		gathered := []int64{0, 10, 20, 1, 11, 21, 2, 12, 22}
		unequal := []int64{0, 1, 1, 2, 2, 2}
		var started []*Handle
		add := func(h *Handle) { started = append(started, h) }
		add(c.GatherAsync(ctx, Of(own), room(1, gathered...), 1))
		add(c.GatherVAsync(ctx, part, room(2, unequal...), counts, 2))
		add(c.ScatterAsync(ctx, Of(gathered), room(-1, me, 10+me, 20+me), 0))
		add(c.ScatterVAsync(ctx, Of(unequal), room(-1, unequal[starts[me]:starts[me]+counts[me]]...), counts, 0))
		add(c.AllGatherVAsync(ctx, part, room(-1, unequal...), counts))
		add(c.ReduceScatterVAsync(ctx, Of(unequal), room(-1, slices.Repeat([]int64{3 * me}, int(counts[me]))...), counts, Sum))
		sends := []int64{1, 1, 1}
		add(c.AllToAllVAsync(ctx, Of(own), room(-1, 10*me, 10*me+1, 10*me+2), sends, sends))
		clear(counts)
		clear(sends)
		add(c.BarrierAsync(ctx))
		add(c.ExchangeAsync(ctx, []Transfer{{Peer: next, Data: Of(own)}, {Peer: prev, Data: room(-1, int64(prev), 10+int64(prev), 20+int64(prev)), Recv: true}}))
		switch c.Rank() {
		case 0:
			add(c.SendAsync(ctx, Of(own), 1))
		case 1:
			add(c.RecvAsync(ctx, room(-1, 0, 10, 20), 0))
		}
		g := c.Group()
		g.Gather(Of(own), room(0, gathered...), 0)
		g.Scatter(Of(gathered), room(-1, me, 10+me, 20+me), 2)
		g.AllToAll(Of(own), room(-1, 10*me, 10*me+1, 10*me+2))
		add(g.Start(ctx))
		for i, h := range started {
			if err := h.Wait(ctx); err != nil {
				return fmt.Errorf("operation %d: %w", i, err)
			}
		}
		for i, r := range all {
			if (r.only < 0 || r.only == c.Rank()) && !slices.Equal(r.got, r.want) {
				return fmt.Errorf("result %d is %v, want %v", i, r.got, r.want)
			}
		}
		for i, h := range []*Handle{c.AllToAllVAsync(ctx, Of(own), Of(own), nil, nil), c.SendAsync(ctx, Of(own), c.Rank())} {
			if err := h.Wait(ctx); !errors.Is(err, device.ErrMismatch) {
				return fmt.Errorf("wrong call %d: %w", i, err)
			}
		}
		return nil
	})
}
