package simulate

// Where the ranks of a node are more than its processors, rank r is pinned to processor
// r mod Cores of its node, and the ranks of one processor take turns. A rank that finds that
// it must wait leaves its processor Network.Leave or LeaveNear later: to the first whose
// message has come, in the order in which they came. A rank that looks for its message until
// it leaves goes on at once when that comes, and nobody takes its processor. One that sleeps
// is woken by its message's sender, which takes Rouse longer over it where they are on two
// processors; it gets its processor at once, even from another rank, and goes on Wake or
// WakeNear later. What a rank does depends on what the others are at, so each of its messages
// is an event of its own.

// core is a processor.
type core struct {
	owner int32   // the rank that has it, nobody for none
	ready []int32 // ranks that can go on and wait for it, in order
}

const (
	nobody = -1
	never  = -1.0
)

// skew is by how much a rank enters a call later than the one before it, in seconds: of
// two ranks that do the same one is always later, and waits for nothing where the other
// must wait.
const skew = 1e-9

// newCores are the processors of the nodes, nil where each rank has its own.
func newCores(n *Network, ranks int) []core {
	if n.Cores == 0 || min(n.PerNode, ranks) <= n.Cores {
		return nil
	}
	all := make([]core, n.Nodes*n.Cores)
	for i := range all {
		all[i].owner = nobody
	}
	return all
}

func (e *engine) coreOf(r int32) *core {
	node, place := int(r)/e.net.PerNode, int(r)%e.net.PerNode
	return &e.cores[node*e.net.Cores+place%e.net.Cores]
}

// resume lets a rank go on that waited for what happens now, or that begins, when it has a
// processor. Its clock may be ahead of that, and then it has not waited.
func (e *engine) resume(r int32, at float64) {
	k := &e.ranks[r]
	if e.cores == nil {
		k.clock = max(k.clock, at)
		e.walk(r)
		return
	}
	c := e.coreOf(r)
	switch {
	case k.ready || k.paused:
		return
	case c.owner == r && (at <= k.clock || e.net.Looks):
		k.clock = max(k.clock, at)
	case c.owner == nobody || e.preempts(k, c, at):
		c.owner = r
		k.clock = max(k.clock, at+e.back(r, k)*k.slow)
	default:
		k.ready, k.slept = true, c.owner != r
		c.ready = append(c.ready, r)
		return
	}
	e.turn(r)
}

// back is what a rank that has slept takes until it goes on.
func (e *engine) back(r int32, k *rank) float64 {
	switch {
	case k.phase == starting:
		return 0
	case e.coreOf(k.waitsFor()) == e.coreOf(r):
		return e.net.WakeNear
	}
	return e.net.Wake
}

// preempts takes a processor away for a rank that is woken, and says whether it did. Who had
// it goes on where it was when it has it again. One that is leaving it leaves first.
func (e *engine) preempts(k *rank, c *core, at float64) bool {
	o := &e.ranks[c.owner]
	if e.net.Looks || o == k || !o.paused || k.phase == starting {
		return false
	}
	o.paused, o.ready, o.rest = false, true, o.clock-at
	c.ready = append([]int32{c.owner}, c.ready...)
	return true
}

// turn is a rank at its processor, until it waits or is done, and until it leaves.
func (e *engine) turn(r int32) {
	k := &e.ranks[r]
	k.leaves = never
	e.walk(r)
	if k.paused {
		return
	}
	k.leaves = k.clock
	if k.phase != done && k.phase != died {
		x := e.net.Leave
		if e.coreOf(k.waitsFor()) == e.coreOf(r) {
			x = e.net.LeaveNear
		}
		k.leaves += x * k.slow
	}
	e.events.push(k.leaves, leaves, r)
}

// waitsFor is whom a rank waits for.
func (k *rank) waitsFor() int32 {
	if k.phase == receiving {
		return int32(k.round.Recvs[k.taken].From)
	}
	return k.last
}

// pause lets what happens before a rank's clock happen first, where ranks share processors.
func (e *engine) pause(r int32, k *rank) bool {
	if e.cores != nil && len(e.events.all) > 0 && e.events.all[0].at < k.clock {
		k.paused = true
		e.events.push(k.clock, works, r)
	}
	return k.paused
}

// rouse is what a message costs its sender more because its receiver sleeps.
func (e *engine) rouse(r, to int32) float64 {
	k, c := &e.ranks[to], e.coreOf(to)
	if c == e.coreOf(r) || c.owner == to || k.ready || k.phase != receiving || int32(k.round.Recvs[k.taken].From) != r {
		return 0
	}
	return e.net.Rouse
}

// leave is a rank whose time to leave its processor has come, unless it went on
// meanwhile.
func (e *engine) leave(r int32, at float64) {
	c := e.coreOf(r)
	if c.owner != r || e.ranks[r].leaves != at {
		return
	}
	c.owner = nobody
	if len(c.ready) == 0 {
		return
	}
	next := c.ready[0]
	c.ready = append(c.ready[:0], c.ready[1:]...)
	c.owner = next
	k := &e.ranks[next]
	k.ready = false
	if k.rest > 0 {
		k.clock = at + k.rest
		k.rest = 0
		k.paused = true
		e.events.push(k.clock, works, next)
		return
	}
	k.clock = max(k.clock, at)
	if k.slept {
		k.clock += e.back(next, k) * k.slow
		k.slept = false
	}
	e.turn(next)
}
