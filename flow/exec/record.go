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
	Steps    []int // of each operator
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
	step := c.record.Steps[at]
	c.track.In(step, b.Len(), bytes)
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
			c.track.Out(step, out.Len(), size)
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

// emitted counts a batch that came out of the last operator.
func (p *Pipeline) emitted(t *profile.Track, b *flow.Batch) {
	if t != nil {
		t.In(p.output(), b.Len(), b.Size())
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

// discarded counts a batch that nobody takes.
func (p *Pipeline) discarded(b *flow.Batch) {
	if r := p.options.Record; r != nil {
		r.Recorder.Discard(r.Output, b.Len())
	}
}
