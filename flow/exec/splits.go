package exec

import (
	"context"
	"io"

	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

// Splits is a Source whose rows lie in parts: the worker that takes a part reads it. Its own
// Next gives the batches of all parts, where Split was not called.
type Splits interface {
	Source
	// Split is the next part, or io.EOF. It is called by one goroutine at a time, and by none
	// once it has failed.
	Split(ctx context.Context) (Source, error)
}

const (
	// splitsAhead is how many parts for each worker may be begun and not yet taken.
	splitsAhead = 2
	// emittedOfSplit is how many batches of a part wait until the part's turn comes: a row group
	// of two million rows, so that the workers behind the first do not stand still meanwhile.
	emittedOfSplit = 32
)

// task is what a worker takes: a morsel, or a part of the source.
type task struct {
	morsel *flow.Batch
	part   *Morsels
}

// some reports whether there is anything to do.
func (t task) some() bool { return t.morsel != nil || t.part != nil }

// drop gives back what nobody carries.
func (t task) drop() {
	t.morsel.Release()
	if t.part != nil {
		t.part.Close()
	}
}

// places is how many of the places ahead of the consumer the task takes.
func (t task) places() int64 {
	switch {
	case t.part != nil:
		return ahead / splitsAhead
	case t.morsel != nil:
		return (t.morsel.Len() + MorselRows - 1) / MorselRows
	}
	return 1
}

// room is how many of its batches may wait.
func (t task) room() int {
	if t.part != nil {
		return emittedOfSplit
	}
	return emitted
}

// pull is the next task, which begins at operator p.at.
func (p *Pipeline) pull(ctx context.Context, track *profile.Track) (t task, err error) {
	defer Guard(p.options.Device, &err)
	if p.splits != nil {
		s, err := p.splits.Split(ctx)
		if err == nil {
			t.part = NewMorsels(s, p.options.Rows)
			return t, nil
		}
		p.splits, p.morsels.err = nil, err // there are none one after another either
		if err != io.EOF {
			return t, err
		}
	}
	t.morsel, err = p.morsel(ctx, track)
	return t, err
}

// carry carries a task through the operators.
func (p *Pipeline) carry(ctx context.Context, c *chain, t task, l *line) error {
	if t.part == nil {
		return counted(p.run(ctx, c, t.morsel, l), l.from)
	}
	defer t.part.Close()
	for {
		m, err := p.read(ctx, c.track, t.part)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := counted(p.run(ctx, c, m, l), t.part.from); err != nil {
			return err
		}
	}
}

// read is the next morsel of a part.
func (p *Pipeline) read(ctx context.Context, track *profile.Track, part *Morsels) (m *flow.Batch, err error) {
	defer Guard(p.options.Device, &err)
	defer track.Back(track.Enter(p.source()))
	return part.Next(ctx)
}
