package report

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Bandwidth is what plain Go loops reach over memory that does not fit into
// the cache: the limit that a memory-bound operation is held against. Both
// figures are in 1e9 bytes per second.
type Bandwidth struct {
	ReadGBs     float64 `json:"read_gb_s"`    // bytes read
	CopyGBs     float64 `json:"copy_gb_s"`    // bytes read plus bytes written
	Threads     int     `json:"threads"`      // goroutines that shared the work
	BufferBytes int64   `json:"buffer_bytes"` // size of the memory gone over
}

const (
	calibrateTime  = 250 * time.Millisecond // per figure; the rest of the second is the first touch
	calibrateChunk = 4 << 20 >> 3           // words between two looks at the context, well under 1 ms
	calibrateMin   = 256 << 20              // bytes
	calibrateMax   = 1 << 30                // bytes
)

// Calibrate measures the bandwidth of main memory with the given number of
// goroutines, the best of several passes for each figure, in about a second.
// The buffer is twice the largest cache, at least 256 MiB and at most 1 GiB or
// a sixteenth of main memory; it is given back to the operating system before
// the call returns. Threads below 1 is an error. When ctx ends it stops within
// milliseconds and returns an error as [Measure] does.
func Calibrate(ctx context.Context, threads int) (Bandwidth, error) {
	m := ThisMachine()
	size := min(max(2*m.CacheBytes, calibrateMin), calibrateMax)
	if m.MemoryBytes > 0 {
		size = min(size, m.MemoryBytes/16)
	}
	b, err := calibrate(ctx, threads, size, calibrateTime)
	debug.FreeOSMemory()
	return b, err
}

func calibrate(ctx context.Context, threads int, size int64, budget time.Duration) (Bandwidth, error) {
	if threads < 1 {
		return Bandwidth{}, fmt.Errorf("report: calibration with %d threads, at least 1 is needed", threads)
	}
	words := make([]uint64, size/8)
	half := len(words) / 2
	b := Bandwidth{Threads: threads, BufferBytes: int64(len(words)) * 8}
	fill := func(lo, hi int) {
		for i := range words[lo:hi] {
			words[lo+i] = uint64(i) // a page never written may be one shared page of zeros
		}
	}
	if _, err := pass(ctx, threads, len(words), fill); err != nil {
		return Bandwidth{}, err
	}
	var err error
	read := func(lo, hi int) { runtime.KeepAlive(sumWords(words[lo:hi])) }
	if b.ReadGBs, err = best(ctx, threads, len(words), 8, budget, read); err != nil {
		return Bandwidth{}, err
	}
	move := func(lo, hi int) { copy(words[half+lo:half+hi], words[lo:hi]) }
	if b.CopyGBs, err = best(ctx, threads, half, 16, budget, move); err != nil {
		return Bandwidth{}, err
	}
	return b, nil
}

// best repeats a pass over n words, at least twice and until the budget is
// used up, and returns the fastest in 1e9 bytes per second, each word counting
// perWord bytes.
func best(ctx context.Context, threads, n, perWord int, budget time.Duration, fn func(lo, hi int)) (float64, error) {
	fastest := time.Duration(0)
	for start, i := time.Now(), 0; i < 2 || time.Since(start) < budget; i++ {
		d, err := pass(ctx, threads, n, fn)
		if err != nil {
			return 0, err
		}
		if i == 0 || d < fastest {
			fastest = d
		}
	}
	return float64(n) * float64(perWord) / max(fastest.Seconds(), 1e-9) / 1e9, nil
}

// pass splits [0,n) over goroutines and times fn over all of it, chunk by chunk.
func pass(ctx context.Context, threads, n int, fn func(lo, hi int)) (time.Duration, error) {
	var wg sync.WaitGroup
	start := time.Now()
	for t := range threads {
		wg.Go(func() {
			end := n * (t + 1) / threads
			for lo := n * t / threads; lo < end && ctx.Err() == nil; lo += calibrateChunk {
				fn(lo, min(lo+calibrateChunk, end))
			}
		})
	}
	wg.Wait()
	d := time.Since(start)
	if ctx.Err() != nil {
		return 0, ended(ctx)
	}
	return d, nil
}

// sumWords adds in four chains, so that the adds never wait for each other and
// memory is what limits the loop.
func sumWords(w []uint64) uint64 {
	var a, b, c, d uint64
	for len(w) >= 8 {
		v := w[:8]
		a += v[0] + v[4]
		b += v[1] + v[5]
		c += v[2] + v[6]
		d += v[3] + v[7]
		w = w[8:]
	}
	for _, v := range w {
		a += v
	}
	return a + b + c + d
}
