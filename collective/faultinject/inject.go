package faultinject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// Kind is what goes wrong.
type Kind uint8

// The kinds. Kill ends the rank: the others lose their connections to it. Freeze
// stops it, with its heartbeats, as SIGSTOP does. Drop, Duplicate and Corrupt treat
// one message so; Delay holds it back for Event.Delay. Partition cuts the rank off
// from those in Event.Others: nothing passes any more in either direction. Strike calls
// Event.Do, for ranks in processes of their own, which that ends or stops.
const (
	Kill Kind = iota
	Freeze
	Drop
	Delay
	Duplicate
	Corrupt
	Partition
	Strike
)

// String is the kind's name.
func (k Kind) String() string {
	names := [...]string{"kill", "freeze", "drop", "delay", "duplicate", "corrupt", "partition", "strike"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Event is one fault: Rank meets it when it posts its N-th message, from 0.
type Event struct {
	Rank   int
	N      int64
	Kind   Kind
	Delay  time.Duration // of Delay
	Others []int         // of Partition
	Do     func()        // of Strike
	// Look is 0, or says when it is met if that message is a merge: the Look-th time that it turns to another
	// rank, or Combining. See WrapMerging.
	Look int
}

// ErrKilled is what a killed rank's endpoint returns, and what the others' notes of
// it say.
var ErrKilled = errors.New("killed")

// Injector holds the endpoints of one group, or of one rank of it, and what happens to
// them.
type Injector struct {
	events []Event
	ends   []*endpoint // by rank; nil where the rank is another process
	thawed atomic.Bool
	merges bool // as WrapMerging says

	mu     sync.Mutex
	parted map[[2]int]bool
}

// Wrap puts events between endpoints and those who use them. The endpoints are all
// of one group, in the order of ranks. Splits of them are not wrapped.
func Wrap(ends []transport.Endpoint, events ...Event) ([]transport.Endpoint, *Injector) {
	return wrapAll(&Injector{}, ends, events)
}

func wrapAll(in *Injector, ends []transport.Endpoint, events []Event) ([]transport.Endpoint, *Injector) {
	in.events, in.ends, in.parted = events, make([]*endpoint, len(ends)), map[[2]int]bool{}
	wrapped := make([]transport.Endpoint, len(ends))
	for r, e := range ends {
		in.ends[r] = in.wrap(e)
		wrapped[r] = in.ends[r].dressed()
	}
	for _, w := range in.ends {
		go w.hand()
	}
	return wrapped, in
}

// WrapOne puts events between the endpoint of one rank and who uses it, where the others
// are other processes. Every process gives the same events, and meets those of its own
// rank. A rank that is killed leaves, as far as the others can tell.
func WrapOne(end transport.Endpoint, events ...Event) (transport.Endpoint, *Injector) {
	in := &Injector{events: events, ends: make([]*endpoint, end.Size()), parted: map[[2]int]bool{}}
	w := in.wrap(end)
	in.ends[end.Rank()] = w
	go w.hand()
	return w.dressed(), in
}

func (in *Injector) wrap(e transport.Endpoint) *endpoint {
	return &endpoint{Endpoint: e, in: in, notes: make(chan transport.Note, 64), stop: transport.NewStop(), closed: make(chan struct{})}
}

// Thaw lets frozen ranks go on, with an error, and those that would freeze later.
func (in *Injector) Thaw() {
	in.thawed.Store(true)
	for _, e := range in.ends {
		if e != nil && e.frozen.Load() {
			e.stop.Set(ErrKilled)
		}
	}
}

// Messages is how many messages a rank of this process has posted.
func (in *Injector) Messages(rank int) int64 { return in.ends[rank].posted.Load() }

func (in *Injector) cut(a, b int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.parted[[2]int{min(a, b), max(a, b)}]
}

type endpoint struct {
	transport.Endpoint
	in     *Injector
	posted atomic.Int64
	frozen atomic.Bool
	killed atomic.Bool
	notes  chan transport.Note
	stop   *transport.Stop
	once   sync.Once
	closed chan struct{}
}

// hand passes notes on, unless the two ranks are parted or the receiver is frozen.
func (e *endpoint) hand() {
	defer close(e.notes)
	for n := range e.Endpoint.Notes() {
		if e.in.cut(n.From, e.Rank()) || e.frozen.Load() || e.killed.Load() {
			continue
		}
		n.Err = e.named(n.From, n.Err)
		select {
		case e.notes <- n:
		case <-e.closed:
		}
	}
}

// named is an error of another rank, of one that was killed not that it left.
func (e *endpoint) named(rank int, err error) error {
	if other := e.in.ends[rank]; errors.Is(err, transport.ErrLeft) && other != nil && other.killed.Load() {
		return ErrKilled
	}
	return err
}

// Machines are those of the endpoint under it.
func (e *endpoint) Machines() []int {
	if m, ok := e.Endpoint.(transport.Machines); ok {
		return m.Machines()
	}
	return nil
}

// Notes are those of the endpoint that get through.
func (e *endpoint) Notes() <-chan transport.Note { return e.notes }

// Signal is lost where the ranks are parted or this one is frozen.
func (e *endpoint) Signal(to int, text []byte) error {
	if e.frozen.Load() || e.in.cut(e.Rank(), to) {
		return nil
	}
	if e.killed.Load() {
		return ErrKilled
	}
	return e.Endpoint.Signal(to, text)
}

// Post meets the events that are due.
func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	times, corrupt := e.meet(e.posted.Add(1)-1, 0)
	if corrupt {
		payload = slices.Clone(payload)
		if len(payload) > 0 {
			payload[len(payload)/2] ^= 0x10
		} else {
			other := *h
			other.Step ^= 0x10 // not its length, which transports take from the payload
			h = &other
		}
	}
	if err := e.gone(); err != nil {
		return err
	}
	if e.in.cut(e.Rank(), to) {
		return nil
	}
	for range times {
		if err := e.Endpoint.Post(to, h, payload); err != nil {
			return e.named(to, err)
		}
	}
	return nil
}

// meet meets the events of a look of message n, and says how often it is posted, and whether another one is in
// its place.
func (e *endpoint) meet(n int64, look int) (times int, corrupt bool) {
	times = 1
	for _, v := range e.in.events {
		if v.Rank != e.Rank() || v.N != n || v.Look != look {
			continue
		}
		switch v.Kind {
		case Kill:
			e.kill()
		case Freeze:
			e.frozen.Store(true)
			if e.in.thawed.Load() {
				e.stop.Set(ErrKilled)
			}
		case Drop:
			times = 0
		case Duplicate:
			times = 2
		case Delay:
			select {
			case <-time.After(v.Delay):
			case <-e.stop.Done():
			}
		case Corrupt:
			corrupt = true
		case Partition:
			e.part(v.Others)
		case Strike:
			v.Do()
		}
	}
	return times, corrupt
}

// gone waits while the rank is frozen, and is the error of one that is killed.
func (e *endpoint) gone() error {
	if e.frozen.Load() {
		<-e.stop.Done()
	}
	return e.stop.Err()
}

// Flush of a frozen rank waits. Where it was interrupted, what was posted is taken back, as without faults.
func (e *endpoint) Flush(to int) error {
	if err := e.gone(); err != nil {
		e.Endpoint.Interrupt(err)
		_ = e.Endpoint.Flush(to) // the interruption
		return err
	}
	return e.named(to, e.Endpoint.Flush(to))
}

// Recv of a frozen rank waits.
func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	if err := e.gone(); err != nil {
		return err
	}
	if e.in.ends[from] == nil && e.in.cut(from, e.Rank()) { // it does not know, and may have sent
		<-e.stop.Done()
		return e.stop.Err()
	}
	return e.named(from, e.Endpoint.Recv(from, want, sink))
}

// Interrupt reaches delayed messages too, but not a frozen rank.
func (e *endpoint) Interrupt(err error) {
	if !e.frozen.Load() {
		e.stop.Set(err)
	}
	e.Endpoint.Interrupt(err)
}

// Split is refused to ranks that are killed or parted from a member.
func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	if e.killed.Load() {
		return nil, ErrKilled
	}
	for _, m := range members {
		if e.in.cut(e.Rank(), m) {
			return nil, fmt.Errorf("split %q: parted from rank %d", name, m)
		}
	}
	return e.Endpoint.Split(ctx, name, members)
}

// Close closes the endpoint under it.
func (e *endpoint) Close() error {
	e.once.Do(func() { close(e.closed) })
	e.stop.Set(ErrKilled)
	return e.Endpoint.Close()
}

// Release gives back what the endpoint under it keeps after Close.
func (e *endpoint) Release() {
	if r, ok := e.Endpoint.(transport.Releaser); ok {
		r.Release()
	}
}

func (e *endpoint) kill() {
	e.killed.Store(true)
	e.stop.Set(ErrKilled)
	e.Endpoint.Interrupt(ErrKilled)
	_ = e.Endpoint.Close() // the others' notes of it are renamed: it did not leave
}

func (e *endpoint) part(others []int) {
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	for _, o := range others {
		if o != e.Rank() {
			e.in.parted[[2]int{min(o, e.Rank()), max(o, e.Rank())}] = true
		}
	}
}
