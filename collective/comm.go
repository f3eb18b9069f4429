package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// Comm is one rank's membership in a group of ranks that make the same calls.
type Comm struct {
	ends    transport.Endpoint
	eager   int64 // bytes of payloads that need no flush
	options Options
	model   algorithm.Model
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
	programs    map[shape]*program
	shape       shape // of latest
	latest      *program
	again       again
	watching    watching
	pairs       [2][]uint64
	tally       tally
	track       *timeline.Track // nil where no timeline is kept

	name     string             // the same on all ranks, in timelines
	recorder *timeline.Recorder // the Comm's own to close, or nil

	mu    sync.Mutex
	named map[string]int // groups made so far, by kind and ranks
	never []int          // ranks that a transport said cannot come to Shrink
	stats counts
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
		return newComm(ends, options, "world")
	}
	own, err := fromEnvironment(ends.Rank())
	if err != nil {
		return nil, &device.Error{Call: "collective.New", Kind: device.ErrUnavailable, Text: timelineVariable, Cause: err}
	}
	options.Timeline = own
	c, err := newComm(ends, options, "world")
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, err
	}
	c.recorder = own
	return c, nil
}

func newComm(ends transport.Endpoint, options Options, name string) (*Comm, error) {
	for op, name := range options.Algorithms {
		if _, err := algorithm.Named(name, op); err != nil {
			return nil, &device.Error{Call: "collective.New", Kind: device.ErrUnsupported, Cause: err}
		}
	}
	if w := options.Wire; w != 0 && w != Float16 && w != BFloat16 {
		return nil, device.Errorf(device.ErrUnsupported, "", "collective.New", "%s as the wire's type: only float16 and bfloat16", w)
	}
	if options.Checksum {
		ends = transport.Checked(ends)
	}
	n := ends.Size()
	var track *timeline.Track
	if options.Timeline != nil {
		track = options.Timeline.Track(name, ends.Name(), ends.Rank(), n)
		ends = &traced{Endpoint: ends, track: track}
	}
	c := &Comm{ends: ends, name: name, track: track, options: options.filled(), model: models[ends.Name()], steps: make([]uint32, 2*n)}
	c.sent, c.taken = c.steps[:n], c.steps[n:]
	c.pairs = [2][]uint64{make([]uint64, n), make([]uint64, n)}
	if c.model == (algorithm.Model{}) {
		c.model = models["tcp"]
	}
	c.combine, c.localPart = c.mover.combine, c.mover.local
	c.sharer, _ = ends.(transport.Sharer)
	c.expecter, _ = ends.(transport.Expecter)
	if e, ok := ends.(transport.Eager); ok {
		c.eager = int64(e.Eager())
	}
	c.programs = map[shape]*program{}
	c.named = map[string]int{}
	c.turns.init()
	enter(c)
	c.watch = newWatch(c)
	go c.watch.run()
	return c, nil
}

// models are rough figures of the transports, good enough to rank the algorithms:
// seconds a message, a byte sent, a byte combined.
var models = map[string]algorithm.Model{
	"inproc": {Alpha: 0.4e-6, Beta: 1 / 9e9, Gamma: 1 / 12e9},
	"shm":    {Alpha: 0.5e-6, Beta: 1 / 8e9, Gamma: 1 / 12e9},
	"tcp":    {Alpha: 15e-6, Beta: 1 / 3e9, Gamma: 1 / 12e9},
}

// Rank is this rank's number, from 0.
func (c *Comm) Rank() int { return c.ends.Rank() }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.ends.Size() }

// Transport names what carries the messages: "inproc", "shm", "tcp".
func (c *Comm) Transport() string { return c.ends.Name() }

// Close leaves the group. An operation that runs ends with an error, on this rank
// and on those that need it; a second Close does nothing.
func (c *Comm) Close() error {
	var err error
	c.close.Do(func() {
		c.closed.Store(true)
		c.ends.Interrupt(errClosed)
		err = c.ends.Close()
		c.watch.stop()
		c.watching.end()
		leave(c)
		if c.recorder != nil {
			err = errors.Join(err, c.recorder.Close())
		}
	})
	return err
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

// Sub makes a Comm of some of the ranks, numbered in the order given, which all of
// them give alike. Ranks that are not listed do not call it. After a Fault it is an
// error: use Shrink.
func (c *Comm) Sub(ctx context.Context, ranks []int) (*Comm, error) {
	if err := c.ready("Sub"); err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, r := range ranks {
		if r < 0 || r >= c.Size() || seen[r] {
			return nil, device.Errorf(device.ErrMismatch, "", "Sub", "ranks %v: rank %d is not one of %d, or named twice", ranks, r, c.Size())
		}
		seen[r] = true
	}
	if !seen[c.Rank()] {
		return nil, device.Errorf(device.ErrMismatch, "", "Sub", "ranks %v: this rank, %d, is not among them", ranks, c.Rank())
	}
	return c.sub(ctx, fmt.Sprintf("sub %v", ranks), ranks)
}

// sub makes a group of the endpoint. A transport wants a name that no other group
// has, so groups of one kind and the same ranks are numbered; one that did not come
// about has no number, since its other ranks may never have called.
func (c *Comm) sub(ctx context.Context, kind string, ranks []int) (*Comm, error) {
	return c.group(ctx, kind, ranks, c.options)
}

// group is sub with other options.
func (c *Comm) group(ctx context.Context, kind string, ranks []int, o Options) (*Comm, error) {
	c.mu.Lock()
	n := c.named[kind]
	c.mu.Unlock()
	ends, err := c.ends.Split(ctx, fmt.Sprintf("%s, %d", kind, n), ranks)
	if err != nil {
		return nil, &device.Error{Call: "split", Kind: device.ErrUnavailable, Cause: err}
	}
	c.mu.Lock()
	c.named[kind] = n + 1
	c.mu.Unlock()
	return newComm(ends, o, fmt.Sprintf("%s/%s, %d", c.name, kind, n))
}

// Split makes one Comm of all ranks with the same color, ordered by key and, where
// keys are equal, by rank. A rank with a negative color gets none (nil). All ranks
// call it.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	mine := []int64{int64(color), int64(key)}
	all := make([]int64, 2*c.Size())
	if err := c.AllGather(ctx, Of(mine), Of(all)); err != nil {
		return nil, err
	}
	if color < 0 {
		return nil, nil
	}
	var ranks []int
	for r := range c.Size() {
		if all[2*r] != int64(color) {
			continue
		}
		at := len(ranks)
		for at > 0 && all[2*ranks[at-1]+1] > all[2*r+1] {
			at--
		}
		ranks = append(ranks[:at], append([]int{r}, ranks[at:]...)...)
	}
	return c.sub(ctx, fmt.Sprintf("split %d %v", color, ranks), ranks)
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if y == x {
			return true
		}
	}
	return false
}
