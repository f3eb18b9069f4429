package cpu

import (
	"sync"
	"sync/atomic"
)

// order is what the tasks of a schedule wait for. There are steps, in each
// tasks that pack and then tasks that compute; tasks begin in order, so that
// each only ever waits for one that has begun. To pack, which computes some rows
// as well, the step before must be packed and the place be free, which the step
// before the last one had; to compute, the step must be packed and the same task
// of the step before be done.
type order struct {
	packs, computes int
	mu              sync.Mutex
	change          sync.Cond
	packed, done    []int // tasks of a step that are through
	reached         []int // steps that a task that computes is through with
	failed          bool
	changes         atomic.Int64 // of all that
}

func (o *order) begin(steps, packs, computes int) {
	o.packs, o.computes = packs, computes
	room := make([]int, 2*steps+computes)
	o.packed, o.done, o.reached = room[:steps], room[steps:2*steps], room[2*steps:]
	o.change.L = &o.mu
}

// tasks is how many there are; task says which one number i is: the i-th one of
// a step that packs or computes.
func (o *order) tasks() int { return len(o.done) * (o.packs + o.computes) }

func (o *order) task(n int) (step int, pack bool, i int) {
	step, i = n/(o.packs+o.computes), n%(o.packs+o.computes)
	if i < o.packs {
		return step, true, i
	}
	return step, false, i - o.packs
}

// wait waits for what a task needs; false is that some task failed. It looks for
// a while before it sleeps.
func (o *order) wait(step int, pack bool, i int) bool {
	seen := int64(-1)
	look := func() bool {
		n := o.changes.Load()
		if n == seen {
			return false
		}
		seen = n
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.failed || o.ready(step, pack, i)
	}
	if !look() {
		lingering(look)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.failed && !o.ready(step, pack, i) {
		o.change.Wait()
	}
	return !o.failed
}

func (o *order) ready(step int, pack bool, i int) bool {
	if pack {
		return (step < 1 || o.packed[step-1] == o.packs) && (step < 2 || o.done[step-2] == o.computes)
	}
	return o.packed[step] == o.packs && o.reached[i] == step
}

func (o *order) finish(step int, pack bool, i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if pack {
		o.packed[step]++
	} else {
		o.done[step]++
		o.reached[i]++
	}
	o.changes.Add(1)
	o.change.Broadcast()
}

// fail has all that wait go on.
func (o *order) fail() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true
	o.changes.Add(1)
	o.change.Broadcast()
}
