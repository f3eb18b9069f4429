package dataloader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// Loader makes batches of a source, ahead of who uses them. Next, State and
// Close may be called from any goroutine; Release of its batches too.
type Loader struct {
	options Options
	source  Source
	reader  Reader
	// twoStep is the reader where batches are evaluated after they were read, else nil.
	twoStep twoStep
	// resizing says that batches have other numbers of rows than are asked of the reader.
	resizing bool
	sampler  Sampler
	plan     *plan

	// What follows until the ring is guarded by busy.
	busy      chan struct{} // holds a token while somebody works here
	epoch     int64         // that the next batch is of
	from      int64         // the position at which that epoch was taken up
	step      int64         // the next batch of it
	next      int64         // its ticket
	failed    error         // what every Next gives from now on
	cutBy     error         // what it will be when the rows that came before have been given out
	planHash  string
	first     int64 // the epoch that the loader began with
	firstFrom int64 // and where in it

	slots  []*slot
	free   chan *slot   // slots that nobody uses
	ready  []chan *slot // the slot of ticket t comes in ready[t % len(slots)]
	ticket atomic.Int64 // the next one to be made
	// gathered are batches that wait to be evaluated and transformed; nil where that is
	// not a stage of its own.
	gathered chan ticketed
	made     atomic.Int64 // batches that wait in ready
	lent     atomic.Int64 // batches that are given out

	ctx     context.Context // of the workers
	stop    context.CancelFunc
	workers sync.WaitGroup

	ending sync.Mutex // guards closed, and what happens to slots then
	closed bool

	device   *toDevice     // nil where there is none
	there    *deviceReader // the reader, where it gathers on that device, else nil
	unpinned bool          // the ring was meant to be in pinned memory, and there was no more

	meter meter
	spare int64 // bytes of the reader
}

// New makes a loader at the beginning of its first epoch and starts its workers.
// Data without rows, and fewer rows than Drop needs for one batch on each rank,
// are an ErrMismatch. All of the ring's memory is taken here. The loader must be
// closed.
func New(ctx context.Context, s Source, o Options) (*Loader, error) {
	return open(ctx, s, o, nil)
}

// Resume is New at a State: the rows of its epoch that were given out then do
// not come again, all others do. The number of ranks, the batch size, the
// remainder and all that concerns speed may be others than then. Where other
// things have changed, data or options, the error is an ErrMismatch that says
// which.
func Resume(ctx context.Context, s Source, o Options, state State) (*Loader, error) {
	return open(ctx, s, o, &state)
}

func open(ctx context.Context, s Source, o Options, state *State) (_ *Loader, err error) {
	const call = "dataloader"
	if s == nil {
		return nil, device.Errorf(device.ErrMismatch, "", call, "there is no source")
	}
	if o, err = o.filled(); err != nil {
		return nil, err
	}
	if state != nil || o.Window != nil && o.Window.Entity != "" { // what is read more than once
		release, err := held(ctx, s)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	if o.Window != nil {
		of := s
		if s, err = newWindowed(ctx, of, *o.Window); err != nil {
			return nil, err
		}
		if s.NumRows() == 0 && of.NumRows() > 0 {
			return nil, device.Errorf(device.ErrMismatch, "", call, "%s has %d rows, and no series among them is as long as a window: %d rows of history and %d of horizon",
				of.Name(), of.NumRows(), o.Window.History, o.Window.Horizon)
		}
	}
	l := &Loader{options: o, source: s, busy: make(chan struct{}, 1)}
	l.sampler = Sampler{s.NumRows(), o.Batch, o.Rank, o.Size, o.Shuffle, o.Seed, o.Remainder, o.Order}
	if o.Order != nil {
		if l.sampler.Rows = o.Order.Len(); o.Order.Rows() != s.NumRows() {
			return nil, device.Errorf(device.ErrMismatch, "", call, "%s has %d rows, and the order is over %d", s.Name(), s.NumRows(), o.Order.Rows())
		}
	}
	if err := l.sampler.check(); err != nil {
		return nil, err
	}
	if l.sampler.Rows == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", call, "%s has no rows", s.Name())
	}
	if l.sampler.globalSteps(0) == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", call, "%s has %d rows: no whole batch of %d for each of %d ranks, and Drop leaves out others",
			s.Name(), l.sampler.Rows, o.Batch, o.Size)
	}
	if l.plan, err = newPlan(s.Schema(), &o); err != nil {
		return nil, err
	}
	if state != nil {
		if err := l.resume(ctx, *state); err != nil {
			return nil, err
		}
	}
	spare := o.Spare
	if !o.Shuffle && o.Order == nil {
		spare = 0 // rows that come in their order lie well as they are
	}
	if l.there, err = newDeviceReader(ctx, s, l.plan.parts, &o); err != nil {
		return nil, err
	}
	if l.there != nil {
		l.reader = l.there
	} else if ahead, ok := s.(foreseeing); ok {
		l.reader, err = ahead.openAhead(ctx, o.Memory, l.plan.parts, spare, coming{l.sampler.most(), !o.Shuffle && o.Order == nil, l.rowsOf})
	} else {
		l.reader, err = s.Open(ctx, o.Memory, l.plan.parts, spare)
	}
	if err != nil {
		return nil, err
	}
	l.twoStep, l.resizing = twoStepOf(l.reader), mostRows(s) > 0
	l.spare = l.reader.Bytes()
	if o.Shuffle {
		l.warnOfCache()
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	if err := l.openDevice(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.free = make(chan *slot, o.Prefetch)
	for range o.Prefetch {
		one, err := newSlot(l)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.slots = append(l.slots, one)
		l.ready = append(l.ready, make(chan *slot, 1))
		l.free <- one
	}
	l.meter.start = time.Now()
	if (o.Transform != nil || l.twoStep != nil) && o.Workers != InCaller {
		l.gathered = make(chan ticketed, min(o.Workers, o.Prefetch))
	}
	for range max(0, o.Workers) {
		l.workers.Go(l.work)
		if l.gathered != nil {
			l.workers.Go(l.transforms)
		}
	}
	return l, nil
}

// lock waits until nobody else works on the consumer's side.
func (l *Loader) lock(ctx context.Context) error {
	if err := device.Canceled(ctx, "", "dataloader"); err != nil {
		return err
	}
	select {
	case l.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return device.Canceled(ctx, "", "dataloader")
	}
}

func (l *Loader) unlock() { <-l.busy }

// Next is the next batch, lent until its Release, or io.EOF at the end of an
// epoch; the call after that begins the next epoch, unless it was the last of
// Options.Epochs. Batches come in order. A batch that could not be made is an
// error, of this and every later call, after all batches before it. If a stream fails, or
// a part of a file is damaged, within a batch, the rows before that are a short batch and
// the error comes behind it; Remainder Drop gives whole batches alone. Where ctx ends first the error is an ErrCanceled, and Next may be called again.
//
// When every batch of the ring is given out there is none to wait for: that is
// an ErrOutOfMemory at once, after which a Release helps, or a larger Prefetch.
func (l *Loader) Next(ctx context.Context) (Batch, error) {
	if err := l.lock(ctx); err != nil {
		return Batch{}, err
	}
	defer l.unlock()
	if l.failed != nil {
		return Batch{}, l.failed
	}
	if l.ended() {
		return Batch{}, io.EOF
	}
	if l.step >= l.sampler.Steps(l.from) {
		if l.cutBy != nil {
			l.failed = l.cutBy
			return Batch{}, l.failed
		}
		if err := l.overlong(ctx); err != nil {
			return Batch{}, err
		}
		l.epoch, l.from, l.step = l.epoch+1, 0, 0
		return Batch{}, io.EOF
	}
	if err := l.unchanged(ctx); err != nil {
		return Batch{}, err
	}
	s, err := l.take(ctx)
	if err != nil {
		return Batch{}, err
	}
	l.next++
	if s.err != nil {
		if l.failed = s.err; l.cutBy != nil {
			l.failed = l.cutBy
		}
		return Batch{}, l.failed
	}
	if s.ending != nil && l.cutBy == nil {
		l.cutBy = s.ending
		if l.sampler.Order == nil || !isCut(s.ending) { // else later batches may have rows that came before it
			l.failed = s.ending
		}
	}
	l.step++
	l.lent.Add(1)
	l.meter.given(s.n, s.leftOut)
	return Batch{s, s.lease.Add(1), false}, nil
}

// unchanged is an error where the data has changed since the epoch before. Workers have
// made the first batches of an epoch by the time that it begins, and so have looked
// before who asks for them could change anything.
func (l *Loader) unchanged(ctx context.Context) error {
	c, ok := l.reader.(checker)
	if !ok || l.step > 0 || l.epoch == l.first || l.options.Workers == InCaller || l.isClosed() {
		return nil
	}
	err := c.Check(ctx)
	if err == nil {
		return nil
	}
	if canceled := device.Canceled(ctx, "", "dataloader.Next"); canceled != nil {
		return canceled
	}
	l.failed = &device.Error{Call: "dataloader", Text: fmt.Sprintf("batch 0 of epoch %d: read: %v", l.epoch, err), Cause: err}
	return l.failed
}

// overlong is an error at the end of an epoch whose source has more rows than it announced.
func (l *Loader) overlong(ctx context.Context) error {
	f := finisherOf(l.reader)
	if f == nil || l.isClosed() {
		return nil
	}
	err := f.finish(ctx)
	if canceled := device.Canceled(ctx, "", "dataloader.Next"); canceled != nil && err != nil {
		return canceled
	}
	if l.isClosed() {
		return nil
	}
	if err != nil {
		l.failed = &device.Error{Call: "dataloader", Text: fmt.Sprintf("the end of epoch %d: read: %v", l.epoch, err), Cause: err}
	}
	return l.failed
}

// Steps is how many batches a whole epoch has for this rank.
func (l *Loader) Steps() int64 { return l.sampler.Steps(0) }

// Ready reports whether Next would return without waiting: its batch is made, or
// it would be an error or the end of an epoch. It is false too while another
// goroutine is in Next, and where Next makes the batch itself.
func (l *Loader) Ready() bool {
	select {
	case l.busy <- struct{}{}:
	default:
		return false
	}
	defer l.unlock()
	if l.failed != nil || l.ended() || l.isClosed() || l.lent.Load() == int64(len(l.slots)) {
		return true
	}
	if l.step >= l.sampler.Steps(l.from) {
		f := finisherOf(l.reader)
		return f == nil || f.finished()
	}
	return len(l.ready[l.next%int64(len(l.ready))]) > 0
}

// ended reports whether all epochs are over.
func (l *Loader) ended() bool {
	return l.options.Epochs > 0 && l.epoch >= l.options.Epochs
}

// take is the slot of the next ticket.
func (l *Loader) take(ctx context.Context) (*slot, error) {
	if l.isClosed() {
		return nil, closedError()
	}
	if l.lent.Load() == int64(len(l.slots)) {
		return nil, device.Errorf(device.ErrOutOfMemory, "", "dataloader.Next", "all %d batches of the ring are given out: release one, or make Prefetch larger", len(l.slots))
	}
	l.meter.ready(l.made.Load())
	if l.options.Workers == InCaller {
		select {
		case s := <-l.free:
			return l.produced(ctx, s)
		case <-l.ctx.Done():
			return nil, closedError()
		case <-ctx.Done():
			return nil, device.Canceled(ctx, "", "dataloader.Next")
		}
	}
	from := l.ready[l.next%int64(len(l.ready))]
	select {
	case s := <-from:
		l.made.Add(-1)
		return s, nil
	default:
	}
	defer l.meter.consumer.since(time.Now())
	select {
	case s := <-from:
		l.made.Add(-1)
		return s, nil
	case <-l.ctx.Done():
		return nil, closedError()
	case <-ctx.Done():
		return nil, device.Canceled(ctx, "", "dataloader.Next")
	}
}

// produced makes the next batch in the caller, until its context ends or the loader is
// closed.
func (l *Loader) produced(ctx context.Context, s *slot) (*slot, error) {
	s.both = alsoOf{ctx, l.ctx} // in the slot, so that a batch allocates nothing
	l.produce(&s.both, s, l.next)
	s.both = alsoOf{}
	if s.err == nil {
		return s, nil
	}
	err := device.Canceled(ctx, "", "dataloader.Next")
	if err == nil && l.ctx.Err() != nil {
		err = closedError()
	}
	if err != nil {
		l.free <- s
		return nil, err
	}
	return s, nil
}

// alsoOf is a context that is over as soon as another one is, for who looks at Err. Done
// is its own: closing the loader wakes who waits for a piece.
type alsoOf struct {
	context.Context
	other context.Context
}

// Err is why either of them is over.
func (c *alsoOf) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	return c.other.Err()
}

// Batches gives the rest of this epoch, or all of the next where this one is at
// its end. A batch is released after the loop's body, if the body has not done
// it; Next lends batches for longer. After an error, which comes with a dead
// batch, the loop ends. After a break the next loop goes on where this one
// stopped.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for {
			b, err := l.Next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if !l.lend(b, yield) {
				return
			}
		}
	}
}

// lend gives a batch to a loop's body and takes it back, also when the body
// panics.
func (l *Loader) lend(b Batch, yield func(Batch, error) bool) bool {
	defer l.takeBack(b)
	return yield(b, nil)
}

// takeBack ends a loan and puts the slot into the ring again. It reports false
// for a loan that is over.
func (l *Loader) takeBack(b Batch) bool {
	l.ending.Lock()
	defer l.ending.Unlock()
	if !b.slot.lease.CompareAndSwap(b.lease, b.lease+1) {
		return false
	}
	l.lent.Add(-1)
	if l.closed {
		l.closeSlot(b.slot)
	} else {
		l.free <- b.slot
	}
	return true
}

func (l *Loader) isClosed() bool {
	l.ending.Lock()
	defer l.ending.Unlock()
	return l.closed
}

func closedError() error {
	return device.Errorf(device.ErrClosed, "", "dataloader", "the loader was closed")
}

// Close stops the workers, waits for them, and gives the memory back: that of
// batches that are lent when they are released. A Next that waits fails with an
// ErrClosed. Closing twice is allowed.
func (l *Loader) Close() error {
	l.ending.Lock()
	if l.closed {
		l.ending.Unlock()
		return nil
	}
	l.closed = true
	l.ending.Unlock()
	l.stop()
	endReading(l.reader) // a Next that makes its batch itself may wait for a piece
	l.workers.Wait()
	l.busy <- struct{}{} // a Next that makes its batch itself is done
	defer l.unlock()
	if l.failed == nil {
		l.failed = closedError()
	}
	l.ending.Lock()
	defer l.ending.Unlock()
	err := l.closeDevice()
	for _, s := range l.slots {
		if s.later != nil { // that nobody came to evaluate
			s.later.drop()
			s.later = nil
		}
		if s.lease.Load()%2 == 0 {
			l.closeSlot(s)
		}
	}
	return errors.Join(err, l.reader.Close())
}
