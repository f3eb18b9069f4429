package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/internal/numa"
)

// machineNodes are the nodes of a machine whose memory lies at several.
var machineNodes = sync.OnceValue(func() []numa.Node {
	nodes := numa.Nodes()
	if len(nodes) < 2 {
		return nil
	}
	return nodes
})

// nodes are what loops are spread over.
var nodes = machineNodes

// spreadFrom is how many morsels a worker must have for a loop to be worth the
// moves of threads, some 10 µs.
const spreadFrom = 4

// handOut deals the morsels of a loop over rows to so many workers.
func handOut(count, workers int) dealer {
	all := nodes()
	w := min(workers, count)
	if len(all) < 2 || w < 2 || count < spreadFrom*w {
		return &queue{}
	}
	return newShares(count, w, all)
}

// shares deals each node a run of the tasks, as long as its share of the
// processors, and keeps its workers there: pages that a loop is the first to write
// come to lie at the node, and the next loop over as many rows reads them from
// there. A worker whose node has no tasks left takes from the others'.
type shares struct {
	nodes []numa.Node
	of    []int // the node of each worker
	runs  []run
}

// run is the tasks of a node that are left. Its workers write to it all the time,
// and no line of the cache is two nodes'.
type run struct {
	next atomic.Int64
	end  int64
	_    [112]byte
}

func newShares(tasks, workers int, nodes []numa.Node) *shares {
	d := &shares{nodes: nodes, of: make([]int, workers), runs: make([]run, len(nodes))}
	all := 0
	for _, n := range nodes {
		all += len(n.CPUs)
	}
	before := 0
	for k, n := range nodes {
		behind := before + len(n.CPUs)
		d.runs[k].next.Store(int64(tasks * before / all))
		d.runs[k].end = int64(tasks * behind / all)
		for w := (workers*before + all - 1) / all; w < workers && w*all < workers*behind; w++ {
			d.of[w] = k
		}
		before = behind
	}
	return d
}

func (d *shares) begin(worker int) (end func()) { return d.nodes[d.of[worker]].Enter() }

func (d *shares) take(worker, n int) int {
	own := d.of[worker]
	for k := range d.runs {
		r := &d.runs[(own+k)%len(d.runs)]
		if r.next.Load() >= r.end {
			continue
		}
		if i := r.next.Add(1) - 1; i < r.end {
			return int(i)
		}
	}
	return n
}
