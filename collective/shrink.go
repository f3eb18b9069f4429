package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// Shrink makes a Comm of the ranks that survived the Fault and are still there, in their
// old order. All survivors call it; the old Comm stays closed for work and should be
// closed, by each rank after it has the new one. When a survivor is lost while the others
// wait for it, or closes the old Comm instead, they do not wait until ctx ends: they get
// an ErrLost with a *transport.Absent, which names it, and may call Shrink again, which
// leaves it out too. Over transports between processes one that closed is waited for
// another Options.Deadline, since one that has the new Comm already closes too.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	f := c.Fault()
	if f == nil {
		return nil, device.Errorf(device.ErrUnsupported, "", "Shrink", "the Comm has no fault: use Sub")
	}
	if contains(c.watch.dead, c.Rank()) {
		return nil, f
	}
	c.mu.Lock()
	never := slices.Concat(c.Missing(), c.never)
	c.mu.Unlock()
	var ranks []int
	for r := range c.Size() {
		if !contains(c.watch.dead, r) && !contains(never, r) {
			ranks = append(ranks, r)
		}
	}
	met, stop := c.whileThere(ctx, ranks)
	defer stop()
	s, err := c.sub(met, fmt.Sprintf("shrink %v", ranks), ranks)
	var gone *transport.Absent
	if err == nil || !errors.As(err, &gone) {
		return s, err
	}
	c.mu.Lock() // the transport may know it before the watch
	c.never = append(c.never, gone.Rank)
	c.mu.Unlock()
	return nil, &device.Error{Call: "Shrink", Kind: device.ErrLost, Text: "call it again to go on without the rank", Cause: gone}
}

// whileThere gives a context that ends too, with a *transport.Absent, when one of the ranks
// cannot come any more to where they meet.
func (c *Comm) whileThere(ctx context.Context, ranks []int) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		every := time.NewTicker(pause / 5)
		defer every.Stop()
		left := map[int]time.Time{}
		for {
			lost := c.watch.lostRanks()
			for _, r := range c.Missing() {
				if !contains(ranks, r) {
					continue
				}
				if left[r].IsZero() {
					left[r] = time.Now()
				}
				switch {
				case contains(lost, r):
					cancel(&transport.Absent{Rank: r, Err: errVanished})
				case time.Since(left[r]) > c.options.Deadline:
					cancel(&transport.Absent{Rank: r, Err: transport.ErrLeft})
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// errVanished is how a rank is lost that the watch misses.
var errVanished = errors.New("its connection ended")
