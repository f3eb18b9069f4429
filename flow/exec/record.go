package exec

import (
	"context"

	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

// Record has a pipeline measured: the steps of a profile that its parts are.
type Record struct {
	Recorder *profile.Recorder
	Name     string // of the pipeline, for its workers
	Source   int
	Steps    []int // of each operator, and of the sink if it has one
	Output   int
	// Settle, if not nil, waits until what an operator queued on a device is done, so that
	// its time is the operator's.
	Settle func(ctx context.Context) error
}

// measured is from with measures of all states: bytes is the size of b.
func (c *chain) measured(ctx context.Context, at int, b *flow.Batch, bytes int64, emit func(*flow.Batch) error) error {
	if b.Len() == 0 {
		b.Release()
		return nil
	}
	if at == len(c.states) {
		return emit(b)
	}
	if err := c.check(at, b); err != nil {
		return err
	}
	step := c.record.Steps[at]
	c.track.In(step, rowsOf(b), bytes)
	before := c.track.Enter(step)
	err := c.states[at].Execute(ctx, b, func(out *flow.Batch) error {
		if c.record.Settle != nil {
			if err := c.record.Settle(ctx); err != nil {
				out.Release()
				return err
			}
		}
		size := int64(0)
		if out.Len() > 0 {
			size = out.Size()
			c.track.Out(step, rowsOf(out), size)
		}
		err := c.measured(ctx, at+1, out, size, emit)
		c.track.Enter(step)
		return err
	})
	c.track.Back(before)
	return err
}

// output is the step of the pipeline's output; 0 where nothing is measured.
func (p *Pipeline) output() int {
	if r := p.options.Record; r != nil {
		return r.Output
	}
	return 0
}

// source is the step of the source; 0 where nothing is measured.
func (p *Pipeline) source() int {
	if r := p.options.Record; r != nil {
		return r.Source
	}
	return 0
}

// emitted counts what came out of the last operator, or of the sink's part of a worker.
func (p *Pipeline) emitted(t *profile.Track, i item) {
	if t != nil {
		t.In(p.output(), i.rows(), i.size())
	}
}

// sinkStep is the step that making states is, -1 where it is none.
func (p *Pipeline) sinkStep() int {
	if r := p.options.Record; r != nil && len(r.Steps) > len(p.ops) {
		return r.Steps[len(p.ops)]
	}
	return -1
}

// enterSink counts a batch that the sink takes, and the time until what it gives is called.
func (p *Pipeline) enterSink(c *chain, b *flow.Batch) func() {
	step := p.sinkStep()
	if step < 0 || c.track == nil {
		return func() {}
	}
	c.track.In(step, b.Len(), b.Size())
	before := c.track.Enter(step)
	return func() { c.track.Back(before) }
}

// prepareSink prepares a sink, whose time it is.
func (p *Pipeline) prepareSink(ctx context.Context, s Sink) error {
	if step := p.sinkStep(); step >= 0 {
		t := profile.Of(ctx)
		defer t.Back(t.Enter(step))
	}
	return s.Prepare(ctx)
}

// from is the step that the rows come from which begin at an operator: the source, or the operator
// before it, whose tail they are.
func (p *Pipeline) from(at int) int {
	if at == 0 || p.options.Record == nil {
		return p.source()
	}
	return p.options.Record.Steps[at-1]
}

// tailed counts a morsel of an operator's tail.
func (p *Pipeline) tailed(t *profile.Track, at int, m *flow.Batch) {
	if t != nil && at > 0 {
		t.Out(p.from(at), m.Len(), m.Size())
	}
}

// trackOf is the track of the goroutine of ctx; nil where nothing is measured.
func (p *Pipeline) trackOf(ctx context.Context) *profile.Track {
	if p.options.Record == nil {
		return nil
	}
	return profile.Of(ctx)
}

// worker is the context of a new worker, and its track.
func (p *Pipeline) worker() (context.Context, *profile.Track) {
	r := p.options.Record
	if r == nil {
		return p.ctx, nil
	}
	t := r.Recorder.Track(r.Name, r.Output)
	return profile.With(p.ctx, t), t
}

// prepare prepares an operator, whose time it is.
func (p *Pipeline) prepare(ctx context.Context, at int) error {
	if r := p.options.Record; r != nil {
		t := profile.Of(ctx)
		defer t.Back(t.Enter(r.Steps[at]))
	}
	return p.ops[at].Prepare(ctx)
}

// discarded counts what nobody takes.
func (p *Pipeline) discarded(i item) {
	if r := p.options.Record; r != nil {
		r.Recorder.Discard(r.Output, i.rows())
	}
}
