package exec

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

// alone does the work in Next itself: it goes on where the last batch was emitted, so
// that a morsel that gives many is never held whole. It sets grown and gives nothing where the
// rows are too many for one worker.
func (p *Pipeline) alone(ctx context.Context) (item, error) {
	p.ctx, p.track = ctx, p.trackOf(ctx)
	defer p.track.Back(p.track.Enter(p.output()))
	if p.own != nil {
		p.own.track = p.track
	}
	if p.more == nil {
		p.more, p.stop = iter.Pull2(p.all)
	}
	if err := device.Canceled(ctx, p.options.Device, "query"); err != nil {
		return item{}, err
	}
	i, err, ok := p.more()
	if !ok && !p.grown {
		return item{}, io.EOF
	}
	return i, err
}

// all gives what comes of all morsels, and ends with an error, if there is one.
func (p *Pipeline) all(yield func(item, error) bool) {
	var err error
	for {
		if err = device.Canceled(p.ctx, p.options.Device, "query"); err != nil {
			break
		}
		p.hooks.turn(p.ctx)
		var m *flow.Batch
		if m, err = p.morsel(p.ctx, p.track); err != nil {
			break
		}
		if p.many(m) {
			p.morsels.unread(m)
			p.grown = true
			return
		}
		if p.own == nil {
			if p.own, err = begin(p.ctx, p.ops, p.options.Record, p.track); err != nil {
				m.Release()
				break
			}
		}
		p.tailed(p.track, p.at, m)
		from := p.morsels.from
		err = counted(p.own.execute(p.ctx, p.at, m, func(b *flow.Batch) error {
			i, err := p.made(p.ctx, p.own, b)
			if err != nil {
				return err
			}
			p.hooks.turn(p.ctx)
			if !yield(i, nil) {
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
		yield(item{}, err)
	}
}

// errStopped ends the work of a pipeline that is closed.
var errStopped = errors.New("the pipeline is closed")

// many reports whether a morsel makes the rows so many that workers are to be started.
func (p *Pipeline) many(m *flow.Batch) bool {
	if p.options.Workers <= 1 {
		return false
	}
	p.rows += m.Len()
	return p.morsels.more() || p.rows > min(p.options.Rows, MorselRows)/4
}

// morsel is the next morsel, which begins at operator p.at: of the source, and then of the
// tails of operators. One goroutine at a time calls it.
func (p *Pipeline) morsel(ctx context.Context, track *profile.Track) (*flow.Batch, error) {
	for {
		m, err := p.morsels.Next(ctx)
		if err != io.EOF {
			return m, err
		}
		at := p.at
		for at < len(p.ops) {
			if t, ok := p.ops[at].(Tailed); ok && t.Tails() {
				break
			}
			at++
		}
		if at == len(p.ops) {
			return nil, io.EOF
		}
		before := track.Wait(p.source())
		p.flying.Wait()
		track.Back(before)
		tail, err := p.tail(ctx, track, at)
		if err != nil {
			return nil, err
		}
		p.morsels.Close()
		p.morsels, p.at = NewMorsels(tail, p.options.Rows), at+1
	}
}

// tail is the tail of an operator, whose time it is.
func (p *Pipeline) tail(ctx context.Context, track *profile.Track, at int) (Source, error) {
	defer track.Back(track.Enter(p.from(at + 1)))
	return p.ops[at].(Tailed).Tail(ctx)
}
