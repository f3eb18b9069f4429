package mesh

import (
	"fmt"
	"time"
)

// beats shows those at the other end of each connection that this node lives, and calls lost who has been silent for a lease. The hub hears
// all workers, a worker the hub: two workers without a connection need none for this.
func (n *Node) beats() {
	every := n.o.Lease / 5
	tick := time.NewTicker(every)
	defer tick.Stop()
	ran := time.Now()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		slept := now.Sub(ran) > 2*every // this process did not run: it has heard nobody
		ran = now
		var silent []*Gone
		n.mu.Lock()
		for rank, w := range n.ways {
			l, ok := w.(*link)
			if !ok || rank != Hub && n.o.Rank != Hub {
				continue
			}
			if slept || n.heard[rank].IsZero() {
				n.heard[rank] = now
			}
			if quiet := now.Sub(n.heard[rank]); quiet > n.o.Lease {
				silent = append(silent, &Gone{Rank: rank, Text: fmt.Sprintf("its lease ended: it was silent for %v", quiet.Round(time.Millisecond))})
				continue
			}
			_ = l.send(n.frame(beat, rank), nil) // its end is noticed elsewhere
		}
		n.mu.Unlock()
		for _, g := range silent {
			if n.o.Rank == Hub {
				n.Dismiss(g.Rank, g.Text)
			} else {
				n.lose(g)
			}
		}
	}
}
