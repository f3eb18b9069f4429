package collective

import (
	"context"
	"sync"

	"github.com/volley-go/volley/device"
)

// AveragerOptions are an Averager's settings; all ranks give the same. The zero ones
// are the defaults.
type AveragerOptions struct {
	// Bytes is the size of a bucket: 0 is 25 MiB. A tensor longer than that has a bucket
	// of its own.
	Bytes int64
	// Wire is Float16 or BFloat16 to send float32 tensors in half the bytes; 0 is what
	// the Comm does. They are divided before they are rounded, so sums do not overflow.
	Wire Type
}

// Averager averages the gradients of data-parallel training while they are computed:
// tensors are registered once and laid out in buckets; when all tensors of a bucket
// are ready its AllReduce starts beside the computation of the others. The method is
// that of PyTorch's DistributedDataParallel (Li et al., VLDB 2020). Its methods may be
// called from any goroutine.
type Averager struct {
	c       *Comm
	tensors []Vector
	bucket  []int // of each tensor
	buckets []fusion

	mu      sync.Mutex
	ready   []bool // tensors of this step
	missing []int  // tensors of each bucket that are not
	started []*Handle
}

// NewAverager registers tensors, in the order in which they become ready as a rule:
// those of the last layer first. All ranks call it with tensors of the same types and
// lengths. The tensors' memory is averaged in place, step after step.
func NewAverager(ctx context.Context, c *Comm, tensors []Vector, o AveragerOptions) (*Averager, error) {
	if o.Bytes <= 0 {
		o.Bytes = 25 << 20
	}
	options := c.options
	if o.Wire != 0 {
		options.Wire = o.Wire
	}
	a := &Averager{tensors: tensors, bucket: make([]int, len(tensors)), ready: make([]bool, len(tensors))}
	var works []work
	for i, t := range tensors {
		if _, err := c.allReduce(t, t, Avg); err != nil {
			return nil, device.Errorf(device.ErrMismatch, "", "NewAverager", "tensor %d: %v", i, err)
		}
		works = join(works, pair{t, t}, Avg, o.Bytes)
		a.bucket[i] = len(works) - 1
	}
	for _, w := range works {
		f := *w.(*fusion)
		if options.Wire != 0 && f.parts[0].in.typ == Float32 {
			f.reduce, f.scale = Sum, 1/float32(c.Size())
		}
		a.buckets = append(a.buckets, f)
	}
	own, err := c.twin(ctx, "averager", options)
	if err != nil {
		return nil, err
	}
	a.c = own
	a.reset()
	return a, nil
}

// Buckets is how many operations a step takes.
func (a *Averager) Buckets() int { return len(a.buckets) }

func (a *Averager) reset() {
	clear(a.ready)
	a.missing = make([]int, len(a.buckets))
	for _, b := range a.bucket {
		a.missing[b]++
	}
	a.started = nil
}

// Ready says that tensor i has this step's gradient; until Wait it belongs to the
// Averager. Buckets start in their order, which is the same on all ranks, whatever the
// order in which tensors are ready. The operations run under ctx.
func (a *Averager) Ready(ctx context.Context, i int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i < 0 || i >= len(a.tensors) {
		return device.Errorf(device.ErrMismatch, "", "Averager.Ready", "there is no tensor %d of %d", i, len(a.tensors))
	}
	if a.ready[i] {
		return device.Errorf(device.ErrMismatch, "", "Averager.Ready", "tensor %d was ready before, and Wait was not called", i)
	}
	a.ready[i] = true
	a.missing[a.bucket[i]]--
	for next := len(a.started); next < len(a.buckets) && a.missing[next] == 0; next++ {
		a.start(ctx)
	}
	return nil
}

func (a *Averager) start(ctx context.Context) {
	a.started = append(a.started, a.c.startAll(ctx, []work{&a.buckets[len(a.started)]}, nil))
}

// Wait returns when all tensors are averaged, and begins the next step. Tensors that
// were not Ready, since this rank did not need them, are averaged as they are. When ctx
// ends first the step is over on all ranks, with a Fault.
func (a *Averager) Wait(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.started) < len(a.buckets) {
		a.start(ctx)
	}
	stop := context.AfterFunc(ctx, func() { a.c.cancel(ctx) })
	defer stop()
	var first error
	for _, h := range a.started {
		<-h.done // a Fault ends it, at the latest
		if first == nil {
			first = h.err
		}
	}
	a.reset()
	return first
}

// Close ends the Averager's communicator.
func (a *Averager) Close() error { return a.c.Close() }
