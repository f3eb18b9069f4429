package processors

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Place is where one of several processes runs that work together.
type Place struct {
	Machine    string // empty where it is not known: then it shares with nobody
	Process    string // workers of one process have the same, and share its goroutines
	Processors string // what Mine says
}

// Part is how many of its n processors a process takes among all, itself included: of a processor that k processes of its machine may run on, the k-th part. Processes
// that are bound to processors of their own keep all of them.
func Part(n int, own Place, all []Place) int {
	mine := listed(own.Processors)
	on, beside, seen := make(map[int]int, len(mine)), 1, map[string]bool{own.Process: true}
	for _, p := range all {
		if p.Machine == "" || p.Machine != own.Machine || seen[p.Process] {
			continue
		}
		seen[p.Process] = true
		beside++
		theirs := listed(p.Processors)
		if len(theirs) == 0 { // it may run anywhere
			theirs = mine
		}
		for _, cpu := range theirs {
			on[cpu]++
		}
	}
	part := 1 / float64(beside)
	if len(mine) > 0 {
		part = 0
		for _, cpu := range mine {
			part += 1 / float64(1+on[cpu])
		}
		part /= float64(len(mine))
	}
	return max(1, int(float64(n)*part+1e-6)) // sums of thirds may be a little less than they are
}

// mostListed bounds what a list may name: Linux itself is built for 8192 at most.
const mostListed = 1 << 16

// listed reads a list such as "0-3,8"; what is none names no processor.
func listed(text string) (cpus []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || b < a || b >= mostListed {
			return nil
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// limits are those of Limit that have not been lifted; least is the lowest of them, 0 where there is none.
var limits struct {
	sync.Mutex
	all   map[*int]bool
	least atomic.Int64
}

// Limit has Count be n at the most until lift is called, which may be called again. What VOLLEY_THREADS says goes before all limits.
func Limit(n int) (lift func()) {
	own := &n
	limits.Lock()
	defer limits.Unlock()
	if limits.all == nil {
		limits.all = map[*int]bool{}
	}
	limits.all[own] = true
	weigh()
	return func() {
		limits.Lock()
		defer limits.Unlock()
		delete(limits.all, own)
		weigh()
	}
}

// weigh finds the lowest of the limits, which are locked.
func weigh() {
	least := 0
	for n := range limits.all {
		if least == 0 || *n < least {
			least = *n
		}
	}
	limits.least.Store(int64(least))
}

// Own is how many goroutines a parallel loop would run in without limits of Limit.
func Own() int { return within(runtime.GOMAXPROCS(0)-int(apart.Load()), most) }
