package exec

import (
	"context"
	"io"

	"github.com/volley-go/volley/flow"
)

// Sink is where a pipeline ends that must see all rows before it gives the first. It
// never changes while the pipeline runs.
//
// What comes out of the last operator becomes a state, made and updated by the worker that
// has it. States are merged in the order of the source's rows, one at a time, by the
// goroutine that runs the pipeline, also where there is one worker. So the result
// depends on the morsels, and not on who carried them.
type Sink interface {
	// Prepare comes once, before any Make: for what all workers share.
	Prepare(ctx context.Context) error
	// Make makes a state of no rows. Any goroutine may call it.
	Make(ctx context.Context) (SinkState, error)
	// Finish gives what a state of all rows, which it takes over, comes to.
	Finish(ctx context.Context, all SinkState) (Source, error)
	// Close gives back what Prepare made. It comes once, after the last state was closed.
	Close()
}

// SinkState is what a sink makes of some rows that follow each other. One goroutine at a
// time uses it.
type SinkState interface {
	// Update adds the rows of a batch, which it takes over, also where it fails.
	Update(ctx context.Context, b *flow.Batch) error
	// Merge adds a state of the same sink, whose rows follow those of this one. It takes it
	// over, also where it fails.
	Merge(ctx context.Context, later SinkState) error
	// Rows is how many rows Write gives.
	Rows() int64
	// Size is how many bytes Write gives, each dictionary counted once.
	Size() int64
	// Write gives the state as batches, as it would be put in a file or sent to a rank. The
	// references belong to the caller, and the state stays as it is.
	Write(ctx context.Context) ([]*flow.Batch, error)
	// Read makes a state of no rows that which Write wrote. It takes the batches over, also where it
	// fails.
	Read(ctx context.Context, written []*flow.Batch) error
	// Close gives back what is held. It comes once, unless Merge or Finish took the state over.
	Close()
}

// Into runs the pipeline to its end, and gives the state of all rows. An error is that of
// the first morsel that has one. It is called instead of Next.
func (p *Pipeline) Into(ctx context.Context, s Sink) (SinkState, error) {
	p.sink = s
	all, err := p.guardedMake(ctx, s)
	for err == nil {
		var next item
		if next, err = p.step(ctx); err == nil {
			if err = p.merge(ctx, all, next.state); err == nil {
				all, err = p.hooks.reread(ctx, s, all)
			}
		}
	}
	if err == io.EOF {
		return all, nil
	}
	p.fail(err)
	if all != nil {
		all.Close()
	}
	return nil, err
}

func (p *Pipeline) guardedMake(ctx context.Context, s Sink) (all SinkState, err error) {
	defer Guard(p.options.Device, &err)
	if err := p.prepareSink(ctx, s); err != nil {
		return nil, err
	}
	return s.Make(ctx)
}

func (p *Pipeline) merge(ctx context.Context, all, next SinkState) (err error) {
	defer Guard(p.options.Device, &err)
	return all.Merge(ctx, next)
}

// absorb makes a state of a batch, which it takes over.
func (p *Pipeline) absorb(ctx context.Context, c *chain, b *flow.Batch) (SinkState, error) {
	if err := p.hooks.check(p.sink, b); err != nil {
		b.Release()
		return nil, err
	}
	defer p.enterSink(c, b)()
	s, err := p.sink.Make(ctx)
	if err != nil {
		b.Release()
		return nil, err
	}
	if err = s.Update(ctx, b); err == nil {
		s, err = p.hooks.reread(ctx, p.sink, s)
	}
	if err == nil && c.record != nil && c.record.Settle != nil {
		err = c.record.Settle(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if step := p.sinkStep(); step >= 0 {
		c.track.Out(step, s.Rows(), s.Size())
	}
	return s, nil
}

// Inflow is what runs into a sink: a pipeline.
type Inflow interface {
	// Into gives all rows to a sink, and the state of them.
	Into(ctx context.Context, s Sink) (SinkState, error)
	// Close gives everything back. It comes once.
	Close()
}

// Sunk gives what a sink makes of all rows of a pipeline, once the first batch is asked for. The
// pipeline is closed before that is finished, and both belong to the source.
func Sunk(in Inflow, s Sink) Source { return &sunk{in: in, sink: s} }

type sunk struct {
	in   Inflow // nil once it was closed
	sink Sink
	out  Source
}

func (s *sunk) Next(ctx context.Context) (*flow.Batch, error) {
	if s.out == nil {
		all, err := s.in.Into(ctx, s.sink)
		if err != nil {
			return nil, err
		}
		s.in.Close()
		s.in = nil
		if s.out, err = s.sink.Finish(ctx, all); err != nil {
			return nil, err
		}
	}
	return s.out.Next(ctx)
}

func (s *sunk) Close() {
	if s.in != nil {
		s.in.Close()
	}
	if s.out != nil {
		s.out.Close()
	}
	s.sink.Close()
}
