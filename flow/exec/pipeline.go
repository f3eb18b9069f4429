package exec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

// Options say how a pipeline runs.
type Options struct {
	// Workers is how many goroutines carry morsels. With one, Next does the work
	// itself and no goroutine is started. It also does so while the source has given fewer
	// rows than a quarter of a morsel.
	Workers int
	// Rows is how many rows of a batch are a morsel; 0 is MorselRows, Uncut all.
	Rows int64
	// Device is named by errors.
	Device string
	// Within, if not nil, is the context of the workers, in place of that of the first Next.
	Within context.Context
	// Record, if not nil, has the pipeline measured. The context of Next must have a track.
	Record *Record
}

// Uncut as Options.Rows makes each batch of the source one morsel.
const Uncut = math.MaxInt64

const (
	// ahead is how many morsels for each worker, or MorselRows of larger ones, may be
	// begun and not yet taken.
	ahead = 4
	// emitted is how many batches of a morsel wait until the morsel's turn comes. A
	// worker whose morsel gives more waits for it; the one whose turn it is never
	// does for another worker.
	emitted = 4
)

// Pipeline carries the morsels of a source through operators, and gives what comes
// of them in order, or to a sink.
type Pipeline struct {
	options Options
	morsels *Morsels // of the source, and then of the tails of operators
	splits  Splits   // the source, while workers take parts of it
	at      int      // the operator that these begin at
	ops     []Operator
	sink    Sink // nil where Next is called
	hooks   *Hooks

	prepared, started, closed bool
	err                       error // for ever

	own   *chain         // of Next, where it works itself
	track *profile.Track // of its goroutine, which may be another each time
	more  func() (item, error, bool)
	stop  func()
	rows  int64 // of the morsels that Next carried itself
	grown bool  // these are too many for one worker

	ctx     context.Context // of the workers
	cancel  context.CancelFunc
	lock    sync.Mutex // of morsels, ended and the order of lines
	ended   bool
	lines   chan *line
	places  chan struct{} // one for each MorselRows that are begun and not yet taken
	current *line
	workers sync.WaitGroup
	flying  sync.WaitGroup // morsels that workers carry
}

// item is a batch that comes out of the last operator, or the state that the sink makes of it.
type item struct {
	batch *flow.Batch
	state SinkState
}

func (i item) rows() int64 {
	if i.state != nil {
		return i.state.Rows()
	}
	return i.batch.Len()
}

func (i item) size() int64 {
	if i.state != nil {
		return i.state.Size()
	}
	return i.batch.Size()
}

func (i item) release() {
	if i.state != nil {
		i.state.Close()
	}
	i.batch.Release()
}

// line is what comes of one task. err is written before items is closed.
type line struct {
	items  chan item
	from   int64 // the morsel's first row in its batch
	at     int   // the operator that it begins at
	places int
	err    error
}

// New makes a pipeline of a source and operators, which it takes over. Close gives
// them back.
func New(s Source, ops []Operator, o Options) *Pipeline {
	if o.Rows <= 0 {
		o.Rows = MorselRows
	}
	p := &Pipeline{options: o, morsels: NewMorsels(s, o.Rows), ops: ops}
	if o.Workers > 1 {
		p.splits, p.grown = s.(Splits)
	}
	return p
}

// Next is the next batch, of at least one row, or io.EOF. Rows come in the
// source's order, and an error where its morsel's rows would have come: it is
// given again by every later call. One goroutine calls Next and Close.
func (p *Pipeline) Next(ctx context.Context) (*flow.Batch, error) {
	if p.err == nil && p.closed {
		p.err = device.Errorf(device.ErrClosed, p.options.Device, "pipeline", "next after close")
	}
	if p.err != nil {
		return nil, p.err
	}
	next, err := p.step(ctx)
	if err != nil {
		p.fail(err)
	}
	return next.batch, err
}

// fail ends the pipeline with an error.
func (p *Pipeline) fail(err error) {
	p.err = err
	if p.cancel != nil {
		p.cancel()
	}
}

// step is what comes next of the pipeline, in order.
func (p *Pipeline) step(ctx context.Context) (item, error) {
	next, err := p.guarded(ctx)
	if t := p.trackOf(ctx); t != nil && err == nil {
		t.Out(p.output(), next.rows(), next.size())
	}
	return next, err
}

func (p *Pipeline) guarded(ctx context.Context) (_ item, err error) {
	defer Guard(p.options.Device, &err)
	return p.next(ctx)
}

func (p *Pipeline) next(ctx context.Context) (item, error) {
	if !p.prepared {
		p.prepared = true
		p.hooks = hooksOf(ctx)
		if p.hooks != nil && p.hooks.Workers > 0 && p.options.Workers > 1 {
			p.options.Workers, p.grown = p.hooks.Workers, p.hooks.Workers > 1
		}
		for i := range p.ops {
			if err := p.prepare(ctx, i); err != nil {
				return item{}, err
			}
		}
	}
	if !p.started && !p.grown {
		next, err := p.alone(ctx)
		if !p.grown || err != nil {
			return next, err
		}
	}
	if !p.started {
		p.start(ctx)
	}
	return p.take(ctx)
}

// made is what comes of a batch behind the last operator.
func (p *Pipeline) made(ctx context.Context, c *chain, b *flow.Batch) (i item, err error) {
	if p.sink != nil {
		i.state, err = p.absorb(ctx, c, b)
	} else if err = p.hooks.check(nil, b); err == nil {
		i.batch = b
	} else {
		b.Release()
	}
	if err == nil {
		p.emitted(c.track, i)
	}
	return i, err
}

// Close stops the workers, waits for them, and gives back the source, the
// operators and what nobody took. Closing twice is allowed.
func (p *Pipeline) Close() {
	if p.closed {
		return
	}
	p.closed = true
	if p.started {
		p.cancel()
		p.drain()
		p.workers.Wait()
	}
	if p.stop != nil {
		p.stop()
	}
	p.own.close()
	p.morsels.Close()
	for _, o := range p.ops {
		o.Close()
	}
}

// drain releases what comes of the workers until the last has ended.
func (p *Pipeline) drain() {
	release := func(l *line) {
		for i := range l.items {
			p.discarded(i)
			i.release()
		}
	}
	if p.current != nil {
		release(p.current)
	}
	for l := range p.lines {
		release(l)
	}
}

// counted says from where an error counts rows, if that is not the first row of the
// batch.
func counted(err error, from int64) error {
	if from == 0 || !errors.Is(err, device.ErrValue) {
		return err
	}
	return fmt.Errorf("%w (counted from row %d)", err, from)
}

// Guard, deferred, makes an error of a panic.
func Guard(name string, err *error) {
	if r := recover(); r != nil {
		*err = device.Errorf(nil, name, "query", "%s", fmt.Sprintf("internal error: %v\n%s", r, debug.Stack()))
	}
}
