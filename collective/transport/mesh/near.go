package mesh

import "sync"

// here are the nodes of this process, which reach each other without a connection.
var here struct {
	sync.Mutex
	nodes map[place]*Node
}

// place is a node's.
type place struct {
	run        [16]byte
	generation uint64
	rank       int
}

func (n *Node) place(rank int) place { return place{n.o.Run, n.o.Generation, rank} }

func (n *Node) settle() {
	if n.o.Apart {
		return
	}
	here.Lock()
	defer here.Unlock()
	if here.nodes == nil {
		here.nodes = map[place]*Node{}
	}
	here.nodes[n.place(n.o.Rank)] = n
}

func (n *Node) unsettle() {
	here.Lock()
	defer here.Unlock()
	if here.nodes[n.place(n.o.Rank)] == n {
		delete(here.nodes, n.place(n.o.Rank))
	}
}

// Near is the node of a rank where that is in this process, or nil.
func (n *Node) Near(rank int) *Node {
	if n.o.Apart {
		return nil
	}
	here.Lock()
	defer here.Unlock()
	return here.nodes[n.place(rank)]
}

// bridge is a way to a node of this process.
type bridge struct{ from, to *Node }

func (b bridge) send(f frame, payload []byte) error {
	if b.to.ended() {
		return errClosed
	}
	f.size = uint32(len(payload))
	if f.kind != answer && f.kind != ask {
		payload = append([]byte(nil), payload...)
	}
	return b.to.arrive(bridge{b.to, b.from}, &f, payload) // an answer goes back
}

func (b bridge) stream(s *stream) {
	var out []byte
	for more := true; more; {
		out, more = s.next(out[:0])
		if len(out) == 0 {
			return
		}
		var f frame
		_, err := f.read(out[:headSize])
		if err == nil {
			err = b.send(f, out[headSize:])
		}
		if err != nil {
			s.drop()
			return
		}
	}
	s.whole()
}

func (bridge) room() <-chan struct{} { return nil }
func (bridge) hangUp(bool)           {}
