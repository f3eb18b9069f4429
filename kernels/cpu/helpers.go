package cpu

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// linger is how long a worker that has ended its part of a product looks for the
// next loop, and how long a product's callers and workers look for one another,
// before they sleep. To wake a thread takes 30 µs, and of a virtual machine 100 to
// 200; a product of matrices of order 256 takes that on two threads.
const linger = 100 * time.Microsecond

// lookings is how often is looked between two looks at the clock.
const lookings = 64

// lingering calls found until it is true, for as long as linger.
func lingering(found func() bool) bool {
	for start := time.Now(); ; {
		for range lookings {
			if found() {
				return true
			}
		}
		if time.Since(start) > linger {
			return false
		}
	}
}

// crew is who is at a loop besides its caller. One that comes when the caller is
// through is sent away, and so is never waited for.
type crew struct {
	state atomic.Int64 // how many have begun and not ended, and the bits below
	woken sync.WaitGroup
	looks bool // the caller and the helpers look before they sleep
}

const (
	through = 1 << 32 // the caller is through with its part
	asleep  = 1 << 33 // and sleeps until the last of the others wakes it
	present = through - 1
)

func (g *crew) begin(looks bool) {
	g.looks = looks
	g.woken.Add(1)
}

// enter tells whether there is still something to do.
func (g *crew) enter() bool {
	for {
		v := g.state.Load()
		if v&through != 0 {
			return false
		}
		if g.state.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// leave tells whether the helper may look for another loop: not where the caller
// sleeps, which goes on in the place of the helper that ends.
func (g *crew) leave() (look bool) {
	v := g.state.Add(-1)
	if v&asleep != 0 && v&present == 0 {
		g.woken.Done()
	}
	return g.looks && v&asleep == 0
}

// wait waits until all that have entered have left.
func (g *crew) wait() {
	v := g.state.Or(through)
	if v&present == 0 || g.looks && lingering(func() bool { return g.state.Load()&present == 0 }) {
		return
	}
	if v := g.state.Or(asleep); v&present != 0 {
		g.woken.Wait()
	}
}

// job is a helper's part of a loop.
type job struct {
	of *crew
	do func()
}

// run does it and tells whether the helper may look for another one.
func (j *job) run() (look bool) {
	if !j.of.enter() {
		return false
	}
	defer func() { look = j.of.leave() }()
	j.do()
	return
}

// helper is a worker that looks for a loop: job is nil until one has taken it.
type helper struct {
	job atomic.Pointer[job]
	_   [56]byte
}

// idle are the helpers that look.
var idle struct {
	count atomic.Int64
	mu    sync.Mutex
	all   []*helper
}

// help has a helper do a job: one that looks for it, or else a new one.
func help(j *job) {
	if h := idleHelper(); h != nil {
		h.job.Store(j)
		return
	}
	go func() {
		var h *helper
		for j.run() {
			if h == nil {
				h = new(helper)
			}
			if j = h.look(); j == nil {
				return
			}
		}
	}()
}

func idleHelper() *helper {
	if idle.count.Load() == 0 {
		return nil
	}
	idle.mu.Lock()
	defer idle.mu.Unlock()
	n := len(idle.all) - 1
	if n < 0 {
		return nil
	}
	h := idle.all[n]
	idle.all = slices.Delete(idle.all, n, n+1)
	idle.count.Store(int64(n))
	return h
}

// look waits for a job for a while; nil is that none came.
func (h *helper) look() *job {
	h.job.Store(nil)
	idle.mu.Lock()
	idle.all = append(idle.all, h)
	idle.count.Store(int64(len(idle.all)))
	idle.mu.Unlock()
	has := func() bool { return h.job.Load() != nil }
	if lingering(has) || h.taken() {
		for !has() { // who took the helper is about to give it one
			runtime.Gosched()
		}
	}
	return h.job.Load()
}

// taken takes the helper away from those that look, unless a loop has.
func (h *helper) taken() bool {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	i := slices.Index(idle.all, h)
	if i < 0 {
		return true
	}
	idle.all = slices.Delete(idle.all, i, i+1)
	idle.count.Store(int64(len(idle.all)))
	return false
}
