package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
	// itself and no goroutine is started.
	Workers int
	// Rows is how many rows of a batch are a morsel; 0 is MorselRows, Uncut all.
	Rows int64
	// Device is named by errors.
	Device string
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

// Pipeline carries the morsels of a source through operators and gives what comes
// of them in order.
type Pipeline struct {
	options Options
	morsels *Morsels
	ops     []Operator

	prepared, started, closed bool
	err                       error // for ever

	own   *chain         // of Next, where it works itself
	track *profile.Track // of its goroutine, which may be another each time
	more  func() (*flow.Batch, error, bool)
	stop  func()

	ctx     context.Context // of the workers
	cancel  context.CancelFunc
	lock    sync.Mutex // of morsels, ended and the order of lines
	ended   bool
	lines   chan *line
	places  chan struct{} // one for each MorselRows that are begun and not yet taken
	current *line
	workers sync.WaitGroup
}

// line is what comes of one morsel. err is written before batches is closed.
type line struct {
	batches chan *flow.Batch
	from    int64 // the morsel's first row in its batch
	places  int
	err     error
}

// New makes a pipeline of a source and operators, which it takes over. Close gives
// them back.
func New(s Source, ops []Operator, o Options) *Pipeline {
	if o.Rows <= 0 {
		o.Rows = MorselRows
	}
	return &Pipeline{options: o, morsels: NewMorsels(s, o.Rows), ops: ops}
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
	b, err := p.guarded(ctx)
	if t := p.trackOf(ctx); t != nil && b != nil {
		t.Out(p.output(), b.Len(), b.Size())
	}
	if err != nil {
		p.err = err
		if p.cancel != nil {
			p.cancel()
		}
	}
	return b, err
}

func (p *Pipeline) guarded(ctx context.Context) (b *flow.Batch, err error) {
	defer guard(p.options.Device, &err)
	return p.next(ctx)
}

func (p *Pipeline) next(ctx context.Context) (*flow.Batch, error) {
	if !p.prepared {
		p.prepared = true
		for i := range p.ops {
			if err := p.prepare(ctx, i); err != nil {
				return nil, err
			}
		}
	}
	if p.options.Workers <= 1 {
		return p.alone(ctx)
	}
	if !p.started {
		p.start(ctx)
	}
	return p.take(ctx)
}

// alone does the work in Next itself: it goes on where the last batch was emitted, so
// that a morsel that gives many is never held whole.
func (p *Pipeline) alone(ctx context.Context) (*flow.Batch, error) {
	p.ctx, p.track = ctx, p.trackOf(ctx)
	defer p.track.Back(p.track.Enter(p.output()))
	if p.own != nil {
		p.own.track = p.track
	}
	if p.more == nil {
		p.more, p.stop = iter.Pull2(p.all)
	}
	if err := device.Canceled(ctx, p.options.Device, "query"); err != nil {
		return nil, err
	}
	b, err, ok := p.more()
	if !ok {
		return nil, io.EOF
	}
	return b, err
}

// all gives what comes of all morsels, and ends with an error, if there is one.
func (p *Pipeline) all(yield func(*flow.Batch, error) bool) {
	var err error
	if p.own, err = begin(p.ctx, p.ops, p.options.Record, p.track); err != nil {
		yield(nil, err)
		return
	}
	for {
		if err = device.Canceled(p.ctx, p.options.Device, "query"); err != nil {
			break
		}
		var m *flow.Batch
		if m, err = p.morsels.Next(p.ctx); err != nil {
			break
		}
		from := p.morsels.from
		err = counted(p.own.execute(p.ctx, m, func(b *flow.Batch) error {
			p.emitted(p.track, b)
			if !yield(b, nil) {
				return errStopped
			}
			return nil
		}), from)
		if err == errStopped {
			return
		}
		if err != nil {
			break
		}
	}
	if err != io.EOF {
		yield(nil, err)
	}
}

// errStopped ends the work of a pipeline that is closed.
var errStopped = errors.New("the pipeline is closed")

func (p *Pipeline) start(ctx context.Context) {
	p.started = true
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.lines = make(chan *line, ahead*p.options.Workers)
	p.places = make(chan struct{}, ahead*p.options.Workers)
	for range p.options.Workers {
		p.workers.Add(1)
		go func() {
			defer p.workers.Done()
			p.work()
		}()
	}
}

// take is the next batch of the workers.
func (p *Pipeline) take(ctx context.Context) (*flow.Batch, error) {
	t := p.trackOf(ctx)
	defer t.Back(t.Wait(p.output()))
	for {
		if err := device.Canceled(ctx, p.options.Device, "query"); err != nil {
			return nil, err
		}
		if p.current == nil {
			select {
			case l, ok := <-p.lines:
				if !ok {
					return nil, io.EOF
				}
				p.current = l
			case <-ctx.Done():
				continue
			}
		}
		select {
		case b, ok := <-p.current.batches:
			if ok {
				return b, nil
			}
			if p.current.err != nil {
				return nil, p.current.err
			}
			for range p.current.places {
				<-p.places
			}
			p.current = nil
		case <-ctx.Done():
		}
	}
}

// work carries morsels until there is none.
func (p *Pipeline) work() {
	ctx, track := p.worker()
	defer track.End()
	c, err := p.states(ctx, track)
	defer c.close()
	for {
		m, l := p.begin(ctx, track, err)
		if l == nil {
			return
		}
		if m != nil {
			l.err = counted(p.run(ctx, c, m, l), l.from)
		}
		close(l.batches)
	}
}

func (p *Pipeline) states(ctx context.Context, track *profile.Track) (c *chain, err error) {
	defer guard(p.options.Device, &err)
	return begin(ctx, p.ops, p.options.Record, track)
}

// begin takes the next morsel and puts its line behind those before. A nil line
// means that there is no more to do; a line without a morsel carries an error.
func (p *Pipeline) begin(ctx context.Context, track *profile.Track, failed error) (*flow.Batch, *line) {
	defer track.Back(track.Wait(p.source()))
	p.lock.Lock()
	defer p.lock.Unlock()
	track.Enter(p.source())
	if p.ended {
		return nil, nil
	}
	var m *flow.Batch
	err := failed
	if err == nil {
		m, err = p.pull(ctx)
	}
	track.Wait(p.output())
	if err == io.EOF {
		p.end()
		return nil, nil
	}
	l := &line{batches: make(chan *flow.Batch, emitted), from: p.morsels.from, err: err}
	if !p.enter(m, l) {
		m.Release()
		p.end()
		return nil, nil
	}
	if err != nil {
		p.end()
	}
	return m, l
}

// enter waits until there is room for a morsel ahead of what the consumer has
// taken, and puts its line behind the others. A morsel that is larger than
// MorselRows has room for as many taken, so that memory is bounded by rows. It
// reports whether the pipeline still runs.
func (p *Pipeline) enter(m *flow.Batch, l *line) bool {
	want := 1
	if m != nil {
		want = int(min((m.Len()+MorselRows-1)/MorselRows, int64(cap(p.places))))
	}
	for range max(want, 1) {
		select {
		case p.places <- struct{}{}:
			l.places++
		case <-p.ctx.Done():
			return false
		}
	}
	select {
	case p.lines <- l:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *Pipeline) end() {
	p.ended = true
	close(p.lines)
}

func (p *Pipeline) pull(ctx context.Context) (m *flow.Batch, err error) {
	defer guard(p.options.Device, &err)
	return p.morsels.Next(ctx)
}

func (p *Pipeline) run(ctx context.Context, c *chain, m *flow.Batch, l *line) (err error) {
	defer guard(p.options.Device, &err)
	if err := device.Canceled(p.ctx, p.options.Device, "query"); err != nil {
		m.Release()
		return err
	}
	return c.execute(ctx, m, func(b *flow.Batch) error {
		p.emitted(c.track, b)
		defer c.track.Back(c.track.Wait(p.output()))
		select {
		case l.batches <- b:
			return nil
		case <-p.ctx.Done():
			p.discarded(b)
			b.Release()
			return device.Canceled(p.ctx, p.options.Device, "query")
		}
	})
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
		for b := range l.batches {
			p.discarded(b)
			b.Release()
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

// guard makes an error of a panic.
func guard(name string, err *error) {
	if r := recover(); r != nil {
		*err = device.Errorf(nil, name, "query", "%s", fmt.Sprintf("internal error: %v\n%s", r, debug.Stack()))
	}
}
