package gang

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// shared are the groups whose workers are all in this process, until each has taken its end.
var shared struct {
	sync.Mutex
	groups map[string]*ends
}

type ends struct {
	ranks []int
	all   []transport.Endpoint
	taken []bool
}

// allNear says whether these workers are in this process.
func (w *Worker) allNear(ranks []int) bool {
	for _, r := range ranks { // all of them come to the same answer
		var c card
		if json.Unmarshal(w.node.Card(r), &c) != nil || c.Process != process {
			return false
		}
	}
	return true
}

// joinNear makes a Comm of workers of this process.
func (w *Worker) joinNear(name string, ranks []int) (*collective.Comm, error) {
	shared.Lock()
	g := shared.groups[name]
	if g == nil {
		if shared.groups == nil {
			shared.groups = map[string]*ends{}
		}
		g = &ends{slices.Clone(ranks), inproc.New(len(ranks)), make([]bool, len(ranks))}
		shared.groups[name] = g
	}
	at := slices.Index(ranks, w.Rank())
	g.taken[at] = true
	for i, r := range ranks {
		if !g.taken[i] && w.node.Gone(r) != nil { // it will not come
			g.close(i)
		}
	}
	if !slices.Contains(g.taken, false) {
		delete(shared.groups, name)
	}
	end := g.all[at]
	shared.Unlock()
	return collective.New(end, w.options.Comm)
}

func (g *ends) close(i int) {
	g.taken[i] = true
	_ = g.all[i].Close() // nobody has used it
}

// vacate closes the ends that this worker has not taken, and now will not.
func (w *Worker) vacate() {
	shared.Lock()
	defer shared.Unlock()
	for name, g := range shared.groups {
		if !strings.HasPrefix(name, w.Name()) {
			continue
		}
		if at := slices.Index(g.ranks, w.invitation.rank); at >= 0 && !g.taken[at] {
			g.close(at)
		}
		if !slices.Contains(g.taken, false) {
			delete(shared.groups, name)
		}
	}
}
