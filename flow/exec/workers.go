package exec

import (
	"context"
	"io"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

func (p *Pipeline) start(ctx context.Context) {
	p.started = true
	if p.options.Within != nil {
		ctx = p.options.Within
	}
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

// take is what comes next of the workers.
func (p *Pipeline) take(ctx context.Context) (item, error) {
	t := p.trackOf(ctx)
	defer t.Back(t.Wait(p.output()))
	for {
		if err := device.Canceled(ctx, p.options.Device, "query"); err != nil {
			return item{}, err
		}
		if p.current == nil {
			select {
			case l, ok := <-p.lines:
				if !ok {
					if err := device.Canceled(p.ctx, p.options.Device, "query"); err != nil {
						return item{}, err
					}
					return item{}, io.EOF
				}
				p.current = l
			case <-ctx.Done():
				continue
			}
		}
		select {
		case i, ok := <-p.current.items:
			if ok {
				return i, nil
			}
			if p.current.err != nil {
				return item{}, p.current.err
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
		p.hooks.turn(ctx)
		t, l := p.begin(ctx, track, err)
		if l == nil {
			return
		}
		if t.some() {
			l.err = p.carry(ctx, c, t, l)
			p.flying.Done()
		}
		close(l.items)
	}
}

func (p *Pipeline) states(ctx context.Context, track *profile.Track) (c *chain, err error) {
	defer Guard(p.options.Device, &err)
	return begin(ctx, p.ops, p.options.Record, track)
}

// begin takes the next task and puts its line behind those before. A nil line
// means that there is no more to do; a line without a task carries an error.
func (p *Pipeline) begin(ctx context.Context, track *profile.Track, failed error) (t task, l *line) {
	defer track.Back(track.Wait(p.source()))
	p.lock.Lock()
	defer p.lock.Unlock()
	track.Enter(p.source())
	if p.ended {
		return task{}, nil
	}
	err := failed
	if err == nil {
		t, err = p.pull(ctx, track)
	}
	track.Wait(p.output())
	if err == io.EOF {
		p.end()
		return task{}, nil
	}
	l = &line{items: make(chan item, t.room()), from: p.morsels.from, at: p.at, err: err}
	if !p.enter(t, l) {
		t.drop()
		p.end()
		return task{}, nil
	}
	if err != nil {
		p.end()
	} else {
		p.flying.Add(1)
	}
	return t, l
}

// enter waits until there is room for a task ahead of what the consumer has
// taken, and puts its line behind the others. A morsel that is larger than
// MorselRows has room for as many taken, so that memory is bounded by rows. It
// reports whether the pipeline still runs.
func (p *Pipeline) enter(t task, l *line) bool {
	for range max(min(t.places(), int64(cap(p.places))), 1) {
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

func (p *Pipeline) run(ctx context.Context, c *chain, m *flow.Batch, l *line) (err error) {
	defer Guard(p.options.Device, &err)
	if err := device.Canceled(p.ctx, p.options.Device, "query"); err != nil {
		m.Release()
		return err
	}
	p.tailed(c.track, l.at, m)
	return c.execute(ctx, l.at, m, func(b *flow.Batch) error {
		i, err := p.made(ctx, c, b)
		if err != nil {
			return err
		}
		p.hooks.turn(ctx)
		defer c.track.Back(c.track.Wait(p.output()))
		select {
		case l.items <- i:
			return nil
		case <-p.ctx.Done():
			p.discarded(i)
			i.release()
			return device.Canceled(p.ctx, p.options.Device, "query")
		}
	})
}
