package report

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// Gauge measures within about a tenth of a second what the machine gives right
// now, to tell a round of measurements beside which it gave less: a virtual
// machine's host may lend its cores to others without a sign of it inside.
type Gauge struct {
	threads int
	words   []uint64
}

// Reading is what a Gauge found, the best of a few passes each.
type Reading struct {
	FMAs    float64 `json:"fma_gflop_s"` // multiply-adds of float64 in the widest registers, 1e9 operations per second, two for each
	ReadGBs float64 `json:"read_gb_s"`   // bytes read, 1e9 per second
	CopyGBs float64 `json:"copy_gb_s"`   // bytes read plus bytes written
}

// gaugeBytes is more than the caches of most machines hold.
const gaugeBytes = 256 << 20

// NewGauge makes a gauge that uses a number of goroutines. It keeps 256 MiB of the
// kind of memory that columns on the host have: huge pages, where the system gives them.
func NewGauge(threads int) (*Gauge, error) {
	if threads < 1 {
		return nil, fmt.Errorf("report: a gauge with %d threads, at least 1 is needed", threads)
	}
	block, err := memory.Heap.Allocate(gaugeBytes)
	if err != nil {
		return nil, fmt.Errorf("report: a gauge: %w", err)
	}
	g := &Gauge{threads, memory.View[uint64](memory.Wrap(block.Bytes, nil))}
	for i := range g.words {
		g.words[i] = uint64(i)
	}
	return g, nil
}

// Read measures. It stops within milliseconds of the end of ctx.
func (g *Gauge) Read(ctx context.Context) (r Reading, err error) {
	const budget = 35 * time.Millisecond
	if r.FMAs, err = g.multiply(ctx, budget); err != nil {
		return r, err
	}
	half := len(g.words) / 2
	read := func(lo, hi int) { runtime.KeepAlive(cpu.SumWords(g.words[lo:hi])) }
	if r.ReadGBs, err = best(ctx, g.threads, len(g.words), 8, budget, read); err != nil {
		return r, err
	}
	move := func(lo, hi int) { copy(g.words[half+lo:half+hi], g.words[lo:hi]) }
	r.CopyGBs, err = best(ctx, g.threads, half, 16, budget, move)
	return r, err
}

// multiply is the rate of multiply-adds of all threads: the best of passes of a
// few milliseconds.
func (g *Gauge) multiply(ctx context.Context, budget time.Duration) (float64, error) {
	const steps = 1 << 18
	fastest, flops := math.Inf(1), int64(0)
	for start := time.Now(); time.Since(start) < budget; {
		if ctx.Err() != nil {
			return 0, ended(ctx)
		}
		var wg sync.WaitGroup
		begin := time.Now()
		for range g.threads {
			wg.Go(func() { cpu.MultiplyAdds(steps) })
		}
		wg.Wait()
		fastest, flops = min(fastest, time.Since(begin).Seconds()), int64(g.threads)*cpu.MultiplyAdds(1)*steps
	}
	return float64(flops) / fastest / 1e9, nil
}

// Fell reports whether a reading is below a share of another in any of its
// figures.
func (r Reading) Fell(below Reading, share float64) bool {
	return r.FMAs < share*below.FMAs || r.ReadGBs < share*below.ReadGBs || r.CopyGBs < share*below.CopyGBs
}

// Best has the greater of each figure.
func (r Reading) Best(o Reading) Reading {
	return Reading{max(r.FMAs, o.FMAs), max(r.ReadGBs, o.ReadGBs), max(r.CopyGBs, o.CopyGBs)}
}
