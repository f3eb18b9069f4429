package mixed

import (
	"errors"
	"fmt"
	"sync"

	"github.com/volley-go/volley/collective/transport"
)

// Name is the name of endpoints that are mixed.
const Name = "shm+tcp"

// far is what TCP's endpoint is, which all ranks have.
type far interface {
	transport.Endpoint
	transport.Machines
	// Near numbers the groups of ranks that reach the same memory; -1 is of none.
	Near() []int
	// Group names this group of ranks.
	Group() string
	// HandOver leaves what was posted to goroutines.
	HandOver()
}

// endpoint sends to members of its group of near ranks by one of its endpoints, and to all
// others by the other one.
type endpoint struct {
	far     far
	near    transport.Endpoint // nil where this rank has none
	members []int              // by rank of near
	place   []int              // of a rank, its rank in near; -1 of those that it is not the way to
	why     string             // near ranks stay with TCP, if they do
	box     *transport.Mailbox
	ears    sync.WaitGroup
	close   sync.Once
	closed  error

	council *council // of the near ranks; nil where there are none
	mu      sync.Mutex
	decided bool             // whether there is a near endpoint
	kept    []transport.Note // losses of near ranks told of before
}

func newEndpoint(f far) *endpoint {
	e := &endpoint{far: f, place: make([]int, f.Size()), box: transport.NewMailbox()}
	for r := range e.place {
		e.place[r] = -1
	}
	return e
}

func (e *endpoint) Rank() int                    { return e.far.Rank() }
func (e *endpoint) Size() int                    { return e.far.Size() }
func (e *endpoint) Name() string                 { return Name }
func (e *endpoint) Notes() <-chan transport.Note { return e.box.Notes() }
func (e *endpoint) Machines() []int              { return e.far.Machines() }

// there is a rank's number in shared memory, if that is the way to it.
func (e *endpoint) there(rank int) (at int, near bool) {
	if rank < 0 || rank >= len(e.place) || e.place[rank] < 0 {
		return rank, false
	}
	return e.place[rank], true
}

// by is the endpoint by which a rank is reached, and its rank there. What is under way over
// TCP goes on while the caller is in shared memory.
func (e *endpoint) by(rank int) (transport.Endpoint, int) {
	at, near := e.there(rank)
	if !near {
		return e.far, rank
	}
	e.far.HandOver()
	return e.near, at
}

func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	ends, at := e.by(to)
	return ends.Post(at, h, payload)
}

func (e *endpoint) Flush(to int) error {
	ends, at := e.by(to)
	return ends.Flush(at)
}

func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	ends, at := e.by(from)
	return named(ends.Recv(at, want, sink), at, from)
}

// named is an error with a rank's number here in place of the one there.
func named(err error, there, here int) error {
	if err == nil || there == here {
		return err
	}
	var mismatch *transport.Mismatch
	var corrupt *transport.Corrupt
	switch {
	case errors.As(err, &mismatch):
		return &transport.Mismatch{From: here, Want: mismatch.Want, Got: mismatch.Got}
	case errors.As(err, &corrupt):
		return &transport.Corrupt{From: here, Got: corrupt.Got}
	}
	return err
}

func (e *endpoint) Signal(to int, text []byte) error {
	at, near := e.there(to)
	if !near {
		return e.far.Signal(to, text)
	}
	if err := e.near.Signal(at, text); err != nil {
		return fmt.Errorf("rank %d, in shared memory %d: %w", to, at, err)
	}
	return nil
}

func (e *endpoint) Interrupt(err error) {
	e.far.Interrupt(err)
	if e.near != nil {
		e.near.Interrupt(err)
	}
}

// Describe says which ranks this one reaches by which way.
func (e *endpoint) Describe() string {
	switch {
	case e.why != "":
		return "over TCP to all, since shared memory could not be had: " + e.why
	case e.near == nil:
		return "over TCP to all: no other rank reaches this one's memory"
	}
	var others []int
	for r, at := range e.place {
		if at >= 0 {
			others = append(others, r)
		}
	}
	text := fmt.Sprintf("to ranks %v through shared memory, to all others over TCP", others)
	if d, ok := e.near.(transport.Describer); ok {
		text += "; " + d.Describe()
	}
	return text
}

// Release is that of shared memory.
func (e *endpoint) Release() {
	if r, ok := e.near.(transport.Releaser); ok {
		r.Release()
	}
}

// Close leaves both.
func (e *endpoint) Close() error {
	e.close.Do(func() {
		var near error
		var both sync.WaitGroup
		if e.near != nil {
			both.Go(func() { near = e.near.Close() })
		}
		err := e.far.Close()
		both.Wait()
		e.closed = errors.Join(err, near)
		e.ears.Wait()
		e.box.Close()
	})
	return e.closed
}
