package tune

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// A virtual machine's host moves its processors for seconds at a time: to two threads of one core, to two cores of one
// cache, to two caches, and beside others' threads. On an EPYC a line of memory that another processor has written takes 7, 30
// or 125 ns, and arithmetic twice as long. What a message costs in one of these states says nothing of an operation in another.
// So everything is measured in one state: what was measured while the host was in another one is measured again.

// State is how the host has its processors, as two ranks see it. Seconds, of which 0 is like any other.
type State struct {
	Short float64 `json:"short"` // a message of 8 bytes
	Lines float64 `json:"lines"` // one of 8 KiB
	Loop  float64 `json:"loop"`  // arithmetic on both at once, the slower one's
}

// alike is by how much two states may differ that are one: the least factor between two that are not is 1.5.
const alike = 1.25

// Is says whether two states are the same.
func (s State) Is(other State) bool {
	for _, x := range [][2]float64{{s.Short, other.Short}, {s.Lines, other.Lines}, {s.Loop, other.Loop}} {
		if x[0] > 0 && x[1] > 0 && math.Max(x[0], x[1]) > alike*math.Min(x[0], x[1]) {
			return false
		}
	}
	return true
}

// host has things measured in one state. All ranks do the same, by what rank 0 sees.
type host struct {
	m    *meter
	see  func() (State, error) // as it is; rank 0 has it
	Host                       // the State wanted, and what was measured
	now  State                 // as it was last
	last time.Time             // when it was the one wanted
	left time.Duration
	spun uint64
}

const (
	glances    = 5
	loopSteps  = 2000
	looksEvery = 20 * time.Millisecond
	// looksFor is how long the host is looked at before one of its states is chosen: the one it was in most often.
	looksFor = 3 * time.Second
	// goneAfter is after how long without the state another one is chosen.
	goneAfter = 15 * time.Second
	// waitsFor is how long a rank waits for a state, or measures again what was measured in another, for each round.
	waitsFor = 40 * time.Second
)

// errMoved says that the host has left the state for good, as far as one can tell: all begins anew in another.
var errMoved = errors.New("the host has moved the processors")

// newHost chooses a state.
func newHost(ctx context.Context, ends transport.Endpoint, prefer State, rounds int) (*host, error) {
	context.AfterFunc(ctx, func() { ends.Interrupt(ctx.Err()) })
	v := make([]float32, 8<<10/4)
	h := &host{m: (&meter{in: v, out: v}).over(ends), left: time.Duration(rounds) * waitsFor}
	h.see = h.glance
	return h, h.choose(prefer)
}

// choose chooses a state: the most frequent one, of those like the one preferred if the host is in them a tenth of the time.
func (h *host) choose(prefer State) error {
	var seen []State
	for begun, more := time.Now(), 1; more > 0; {
		if err := h.look(); err != nil {
			return err
		}
		seen = append(seen, h.now)
		if time.Since(begun) > looksFor {
			more = 0
		}
		var err error
		if more, err = h.m.tell(more); err != nil {
			return err
		}
		time.Sleep(looksEvery)
	}
	// A short message goes another way where ranks share processors.
	prefer.Short = 0
	h.Host = Host{State: most(seen, prefer)}
	h.last = time.Now()
	return nil
}

// most is the state that most of those seen are, of those that are the preferred one where a tenth of them are.
func most(seen []State, prefer State) State {
	count := func(s State) (n int) {
		for _, x := range seen {
			if x.Is(s) {
				n++
			}
		}
		return n
	}
	if 10*count(prefer) >= len(seen) {
		seen = slices.DeleteFunc(slices.Clone(seen), func(s State) bool { return !s.Is(prefer) })
	}
	return slices.MaxFunc(seen, func(a, b State) int { return count(a) - count(b) })
}

// steady runs something, again where the host was in another state before or after it; waiting and what is
// run again take no more than there is left.
func (h *host) steady(run func() error) error {
	if h == nil {
		return run()
	}
	for h.Units++; ; {
		if err := h.wait(); err != nil {
			return err
		}
		begun := time.Now()
		if err := run(); err != nil {
			return err
		}
		if err := h.look(); err != nil {
			return err
		}
		kept := 1
		if !h.now.Is(h.State) {
			if h.left -= time.Since(begun); h.left > 0 {
				kept = 0
			} else {
				h.Apart++
			}
		}
		var err error
		if kept, err = h.m.tell(kept); err != nil || kept == 1 {
			return err
		}
	}
}

// What wait does.
const (
	waits = iota
	goesOn
	beginsAnew
)

// wait returns when the host is in the state wanted, as it was when something ended in it; or with errMoved.
func (h *host) wait() error {
	for {
		does := waits
		switch {
		case h.now.Is(h.State) && h.now != (State{}):
			does, h.last = goesOn, time.Now()
		case h.left <= 0:
			does = goesOn
		case time.Since(h.last) > goneAfter:
			does = beginsAnew
		}
		does, err := h.m.tell(does)
		switch {
		case err != nil || does == goesOn:
			return err
		case does == beginsAnew:
			return errMoved
		}
		time.Sleep(looksEvery)
		h.left -= looksEvery
		if err := h.look(); err != nil {
			return err
		}
	}
}

func (h *host) look() (err error) {
	h.now, err = h.see()
	return err
}

// glance is the state by messages between ranks 0 and 1 and by arithmetic on both; the others wait meanwhile.
func (h *host) glance() (State, error) {
	m := h.m
	if err := m.barrier(); err != nil {
		return State{}, err
	}
	r := m.ends.Rank()
	if r > 1 {
		return State{}, m.barrier()
	}
	var short, lines, loops [glances]float64
	for i := range glances {
		for _, x := range []struct {
			into  *[glances]float64
			n     int
			times int
		}{{&short, 8, 16}, {&lines, 8 << 10, 4}} {
			begun := time.Now()
			for range x.times {
				if err := m.between(1-r, x.n); err != nil {
					return State{}, err
				}
			}
			x.into[i] = time.Since(begun).Seconds() / float64(2*x.times)
		}
		if err := m.between(1-r, 8); err != nil {
			return State{}, err
		}
		loops[i] = h.loop()
		v := []float32{float32(loops[i])}
		if r == 1 {
			if err := m.give(0, v); err != nil {
				return State{}, err
			}
			continue
		}
		if err := m.recv(1, v, nil, nil); err != nil {
			return State{}, err
		}
		loops[i] = math.Max(loops[i], float64(v[0]))
	}
	return State{median(short[:]), median(lines[:]), median(loops[:])}, m.barrier()
}

// loop is the time of some arithmetic, each step of which waits for the one before.
func (h *host) loop() float64 {
	least, x := math.Inf(1), h.spun
	for range 4 {
		begun := time.Now()
		for range loopSteps {
			x = x*3 + 1
		}
		least = math.Min(least, time.Since(begun).Seconds())
	}
	h.spun = x
	return least
}
