package collective

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/device"
)

// Comm is one rank's membership in a group of ranks that make the same calls.
type Comm struct {
	ends    transport.Endpoint
	eager   int64 // bytes of payloads that need no flush
	options Options
	model   algorithm.Model
	nodes   *algorithm.Machines // the ranks' machines; nil where all are on one
	turns   turns
	now     progress
	watch   *watch
	closed  atomic.Bool
	close   sync.Once

	// Guarded by the turn: one operation runs at a time.
	seq         uint64
	steps       []uint32 // messages of this operation: by lane,
	sent, taken []uint32 // the two halves of steps
	scratch     []byte
	wide        [2][]byte // vectors widened for a reduction
	packed      []byte    // short vectors side by side
	flushed     []int     // ranks with payloads under way
	task        task
	mover       mover
	combine     func(off int, part []byte) // mover.combine, made once
	localPart   func(from, to int)         // mover.local, made once
	sharer      transport.Sharer           // the endpoint, where ranks can do each other's work, or nil
	expecter    transport.Expecter         // the endpoint, where messages can come before they are asked for, or nil
	exchanger   transport.Exchanger        // the endpoint, where exchanges have a way of their own, or nil
	merger      transport.Merger           // the endpoint, where ranks read and write each other's memory, or nil
	releaser    transport.Releaser         // the endpoint, where it keeps memory after Close, or nil
	merge       transport.Merge
	mergeLap    time.Duration // of a timeline: when the phase of a merge began
	programs    map[shape]*program
	shape       shape // of latest
	latest      *program
	again       again
	kinds       kinds
	watching    watching
	pairs       [2][]atomic.Uint64 // messages of Send and of Recv, by peer; also read by the watch
	tally       tally
	track       *timeline.Track // nil where no timeline is kept

	name     string             // the same on all ranks, in timelines
	recorder *timeline.Recorder // the Comm's own to close, or nil

	mu      sync.Mutex
	named   map[string]int       // groups made so far, by kind and ranks
	numbers map[string]uint64    // calls of packages above, by name
	kept    map[string]io.Closer // of packages above, by name
	stats   counts
}

// New makes a Comm of an endpoint, which it owns from then on. All ranks of the
// endpoint's group call it, with the same options.
func New(ends transport.Endpoint, options Options) (*Comm, error) {
	if ends == nil {
		return nil, device.Errorf(device.ErrMismatch, "", "collective.New", "there is no endpoint")
	}
	if err := options.tune(); err != nil {
		return nil, err
	}
	if options.Timeline != nil {
		return newComm(ends, options, "world", time.Now())
	}
	own, err := fromEnvironment(ends.Rank())
	if err != nil {
		return nil, &device.Error{Call: "collective.New", Kind: device.ErrUnavailable, Text: timelineVariable, Cause: err}
	}
	options.Timeline = own
	c, err := newComm(ends, options, "world", time.Now())
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, err
	}
	c.recorder = own
	return c, nil
}

// newComm makes a Comm of ranks that met at a time: one that is stopped between the two is silent since then.
func newComm(ends transport.Endpoint, options Options, name string, since time.Time) (*Comm, error) {
	for op, name := range options.Algorithms {
		if _, err := algorithm.Named(name, op); err != nil {
			return nil, &device.Error{Call: "collective.New", Kind: device.ErrUnsupported, Cause: err}
		}
	}
	if w := options.Wire; w != 0 && w != Float16 && w != BFloat16 {
		return nil, device.Errorf(device.ErrUnsupported, "", "collective.New", "%s as the wire's type: only float16 and bfloat16", w)
	}
	if err := options.reportStalls(name, ends.Rank(), ends.Size()); err != nil {
		return nil, err
	}
	nodes, err := nodesOf(ends) // before it is wrapped
	if err != nil {
		return nil, err
	}
	releaser, _ := ends.(transport.Releaser)
	var merger transport.Merger // also where a timeline is kept, which may be of some ranks only
	if options.Checksum {
		ends = transport.Checked(ends)
	} else {
		merger, _ = ends.(transport.Merger)
	}
	n := ends.Size()
	var track *timeline.Track
	if options.Timeline != nil {
		track = options.Timeline.Track(name, ends.Name(), ends.Rank(), n)
		ends = &traced{Endpoint: ends, track: track}
	}
	c := &Comm{ends: ends, name: name, track: track, options: options.filled(), model: modelOf(ends.Name()), nodes: nodes, steps: make([]uint32, 2*n)}
	c.sent, c.taken = c.steps[:n], c.steps[n:]
	c.pairs = [2][]atomic.Uint64{make([]atomic.Uint64, n), make([]atomic.Uint64, n)}
	c.combine, c.localPart = c.mover.combine, c.mover.local
	c.merger, c.merge.On, c.releaser = merger, c.now.on, releaser
	c.sharer, _ = ends.(transport.Sharer)
	c.expecter, _ = ends.(transport.Expecter)
	c.exchanger, _ = ends.(transport.Exchanger)
	if e, ok := ends.(transport.Eager); ok {
		c.eager = int64(e.Eager())
	}
	c.programs, c.kinds.next = map[shape]*program{}, map[[2]kind]kind{}
	c.named = map[string]int{}
	c.turns.init()
	enter(c)
	c.watch = newWatch(c, since)
	go c.watch.run()
	return c, nil
}

// models are rough figures of the transports, good enough to rank the algorithms:
// seconds a message, a byte sent, a byte combined.
var models = map[string]algorithm.Model{
	"inproc": {Alpha: 0.4e-6, Beta: 1 / 9e9, Gamma: 1 / 12e9, Pulled: true},
	"shm":    {Alpha: 0.5e-6, Beta: 1 / 8e9, Gamma: 1 / 12e9},
	"tcp":    {Alpha: 15e-6, Beta: 1 / 3e9, Gamma: 1 / 12e9},
}

// modelOf are those of a transport; of two, TCP's between machines and shared memory's within them.
func modelOf(transport string) algorithm.Model {
	if transport == mixed.Name {
		within, across := models["shm"], models["tcp"]
		across.Within = &within
		return across
	}
	if m, ok := models[transport]; ok {
		return m
	}
	return models["tcp"]
}

// Rank is this rank's number, from 0.
func (c *Comm) Rank() int { return c.ends.Rank() }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.ends.Size() }

// Transport names what carries the messages: "inproc", "shm", "tcp", "mpi", or "shm+tcp" where that is shared memory
// between ranks of one machine and TCP between machines.
func (c *Comm) Transport() string { return c.ends.Name() }

// Close leaves the group. An operation that runs ends with an error, on this rank
// and on those that need it; a second Close does nothing.
func (c *Comm) Close() error {
	var err error
	c.close.Do(func() {
		c.closed.Store(true)
		c.ends.Interrupt(errClosed)
		kept := c.closeKept()
		err = errors.Join(append(kept, c.ends.Close())...)
		c.watch.stop()
		c.watching.end()
		leave(c)
		c.release()
		if c.recorder != nil {
			err = errors.Join(err, c.recorder.Close())
		}
	})
	return err
}

// release gives the endpoint's memory back when the operations that Close interrupted have returned. One that does not, being in a
// function of the user's, keeps it.
func (c *Comm) release() {
	if c.releaser == nil {
		return
	}
	ticket := c.turns.take()
	over := func() {
		c.releaser.Release()
		c.turns.done()
	}
	if c.turns.mine(ticket) {
		over()
		return
	}
	go func() {
		c.turns.wait(context.Background(), ticket, nil)
		over()
	}()
}

// Fault is what ended the Comm's work, or nil.
func (c *Comm) Fault() *Fault { return c.watch.fault.Load() }

// ready is the error of a Comm that takes no more work.
func (c *Comm) ready(call string) error {
	if f := c.Fault(); f != nil {
		return f
	}
	if c.closed.Load() {
		return &device.Error{Call: call, Kind: device.ErrClosed, Cause: errClosed}
	}
	return nil
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if y == x {
			return true
		}
	}
	return false
}
