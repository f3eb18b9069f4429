package exec

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
)

// Options say how a pipeline runs.
type Options struct {
	// Workers is how many goroutines carry morsels. With one, Next does the work
	// itself and no goroutine is started.
	Workers int
	// Rows is how many rows of a batch are a morsel; 0 is MorselRows.
	Rows int64
	// Device is named by errors.
	Device string
}

const (
	// ahead is how many morsels for each worker may be begun and not yet taken.
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

	own   *chain // of Next, where it works itself
	ready []*flow.Batch

	ctx     context.Context // of the workers
	cancel  context.CancelFunc
	lock    sync.Mutex // of morsels, ended and the order of lines
	ended   bool
	lines   chan *line
	current *line
	workers sync.WaitGroup
}

// line is what comes of one morsel. err is written before batches is closed.
type line struct {
	batches chan *flow.Batch
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
		for _, o := range p.ops {
			if err := o.Prepare(ctx); err != nil {
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

// alone does the work of one morsel after another until there is a batch.
func (p *Pipeline) alone(ctx context.Context) (*flow.Batch, error) {
	if p.own == nil {
		var err error
		if p.own, err = begin(ctx, p.ops); err != nil {
			return nil, err
		}
	}
	for len(p.ready) == 0 {
		if err := device.Canceled(ctx, p.options.Device, "query"); err != nil {
			return nil, err
		}
		m, err := p.morsels.Next(ctx)
		if err == nil {
			err = p.own.execute(ctx, m, func(b *flow.Batch) error {
				p.ready = append(p.ready, b)
				return nil
			})
		}
		if err != nil && len(p.ready) == 0 {
			return nil, err
		}
		if err != nil { // behind the batches that came before it
			p.morsels.err = err
		}
	}
	b := p.ready[0]
	p.ready = p.ready[1:]
	return b, nil
}

func (p *Pipeline) start(ctx context.Context) {
	p.started = true
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.lines = make(chan *line, ahead*p.options.Workers)
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
			p.current = nil
		case <-ctx.Done():
		}
	}
}

// work carries morsels until there is none.
func (p *Pipeline) work() {
	c, err := p.states()
	defer c.close()
	for {
		m, l := p.begin(err)
		if l == nil {
			return
		}
		if m != nil {
			l.err = p.run(c, m, l)
		}
		close(l.batches)
	}
}

func (p *Pipeline) states() (c *chain, err error) {
	defer guard(p.options.Device, &err)
	return begin(p.ctx, p.ops)
}

// begin takes the next morsel and puts its line behind those before. A nil line
// means that there is no more to do; a line without a morsel carries an error.
func (p *Pipeline) begin(failed error) (*flow.Batch, *line) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.ended {
		return nil, nil
	}
	var m *flow.Batch
	err := failed
	if err == nil {
		m, err = p.pull()
	}
	if err == io.EOF {
		p.end()
		return nil, nil
	}
	l := &line{batches: make(chan *flow.Batch, emitted), err: err}
	select {
	case p.lines <- l:
	case <-p.ctx.Done():
		m.Release()
		p.end()
		return nil, nil
	}
	if err != nil {
		p.end()
	}
	return m, l
}

func (p *Pipeline) end() {
	p.ended = true
	close(p.lines)
}

func (p *Pipeline) pull() (m *flow.Batch, err error) {
	defer guard(p.options.Device, &err)
	return p.morsels.Next(p.ctx)
}

func (p *Pipeline) run(c *chain, m *flow.Batch, l *line) (err error) {
	defer guard(p.options.Device, &err)
	if err := device.Canceled(p.ctx, p.options.Device, "query"); err != nil {
		m.Release()
		return err
	}
	return c.execute(p.ctx, m, func(b *flow.Batch) error {
		select {
		case l.batches <- b:
			return nil
		case <-p.ctx.Done():
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
	for _, b := range p.ready {
		b.Release()
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

// guard makes an error of a panic.
func guard(name string, err *error) {
	if r := recover(); r != nil {
		*err = device.Errorf(nil, name, "query", "%s", fmt.Sprintf("internal error: %v\n%s", r, debug.Stack()))
	}
}
