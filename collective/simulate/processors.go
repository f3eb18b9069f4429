package simulate

// Where the ranks of a node are more than its processors, rank r is pinned to processor
// r mod Cores of its node, and the ranks of one processor take turns. A rank keeps its
// processor while it works; nobody takes it away. When the rank finds that it must wait,
// the processor is another's Network.Leave or LeaveNear later: the first's whose message has come, in
// the order in which they came. A rank without processor whose message comes goes on
// Network.Wake later if its processor is idle.

// core is a processor.
type core struct {
	owner int32   // the rank that has it, nobody for none
	ready []int32 // ranks that can go on and wait for it, in order
}

const nobody = -1

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
	case k.ready:
		return
	case c.owner == r && (at <= k.clock || e.net.Looks):
		k.clock = max(k.clock, at)
	case c.owner == nobody:
		c.owner = r
		if k.phase != starting {
			at += e.net.Wake * k.slow
		}
		k.clock = max(k.clock, at)
	default:
		k.ready = true
		c.ready = append(c.ready, r)
		return
	}
	e.turn(r)
}

// turn is a rank at its processor, until it waits or is done, and until it leaves.
func (e *engine) turn(r int32) {
	e.walk(r)
	k := &e.ranks[r]
	k.leaves = k.clock
	if k.phase != done && k.phase != died {
		x := e.net.Leave
		if k.phase == receiving && e.coreOf(int32(k.round.Recvs[k.taken].From)) == e.coreOf(r) {
			x = e.net.LeaveNear
		}
		k.leaves += x * k.slow
	}
	e.events.push(k.leaves, leaves, r)
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
	k.clock = max(k.clock, at)
	e.turn(next)
}
