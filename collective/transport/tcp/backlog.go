package tcp

import (
	"slices"

	"github.com/volley-go/volley/collective/transport"
)

// backlog is the connections of an endpoint whose sockets have not taken all that was
// posted. Whoever calls the endpoint writes on while it waits, for whatever it waits: a
// goroutine for each connection would have the processor change hands for every part, and
// where a process has one processor, one that sleeps in a call of the system keeps it.
// Only who waits for long leaves the rest to goroutines.
type backlog struct {
	some []*outgoing
	naps sleeper
}

func (b *backlog) add(o *outgoing) {
	if !slices.Contains(b.some, o) {
		b.some = append(b.some, o)
	}
}

// advance writes a part on each connection that takes it now, and says whether one did.
func (b *backlog) advance() (moved bool) {
	kept := b.some[:0]
	for _, o := range b.some {
		went, rest := o.advance()
		moved = moved || went
		if rest {
			kept = append(kept, o)
		}
	}
	clear(b.some[len(kept):])
	b.some = kept
	return moved
}

// handOver leaves the rest to goroutines.
func (b *backlog) handOver() {
	for _, o := range b.some {
		o.handOver()
	}
	clear(b.some)
	b.some = b.some[:0]
}

// finish writes on until one connection has nothing left, or a goroutine has it.
func (b *backlog) finish(o *outgoing, stop *transport.Stop) {
	for idle := 0; o.behind(); {
		if err := stop.Err(); err != nil {
			o.drop(err)
			return
		}
		switch {
		case b.advance():
			idle = 0
		case idle < naps:
			b.naps.nap(b.some)
			idle++
		default:
			b.handOver()
		}
	}
}
