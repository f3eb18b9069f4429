package faultinject

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	schedules = flag.Int("schedules", 300, "random fault schedules of TestSoak")
	seed      = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of TestSoak")
)

// Random operations under random faults, up to three at once: nobody hangs, no
// result is wrong, survivors agree. scripts/collective-soak runs 10,000.
func TestSoak(t *testing.T) {
	t.Logf("-seed %d", *seed)
	slots := make(chan struct{}, 64)
	over := transports(t.TempDir())
	can := slices.Concat(operations(), vForms(), transfers(), startedTogether(), onColumns(), onDevices())
	var all sync.WaitGroup
	n := *schedules
	if testing.Short() {
		n = min(n, 30)
	}
	for i := range n {
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		s := can[r.IntN(len(can))]
		events := make([]Event, 1+r.IntN(3))
		for k := range events {
			e := Event{Rank: r.IntN(ranks), N: int64(r.IntN(3)*3 + k), // two corruptions of one message may undo each other
				Kind: Kind(r.IntN(int(Partition) + 1)), Delay: time.Duration(r.IntN(50)) * time.Millisecond}
			for o := range ranks { // cut off from all: ranks that only some can reach are judged differently by the two sides
				if o != e.Rank {
					e.Others = append(e.Others, o)
				}
			}
			events[k] = e
		}
		carrier := []string{"inproc", "inproc", "shm", "tcp", "mixed"}[r.IntN(5)]
		open := over[carrier]
		if open == nil {
			carrier, open = "inproc", openInproc
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := patiently(open, s, events); err != nil {
				t.Errorf("-seed %d, schedule %d: %s: %s under %+v: %v", *seed, i, carrier, s.name, events, err)
			}
		})
	}
	all.Wait()
}
