package expr

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Prepared is a bound expression whose constants are computed: for a caller who
// evaluates it over one run of rows after the other. Release gives them back.
type Prepared struct{ e *evaluation }

// Prepare computes the constants of b on a backend.
func (b *Bound) Prepare(ctx context.Context, k *kernels.Backend, s device.Stream) (*Prepared, error) {
	p := &Prepared{&evaluation{bound: b, backend: k, stream: s}}
	if err := p.e.constants(ctx); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// Eval computes the first result over n rows of the columns from a row on, as
// Bound.Eval does over all of them. It may be called from several
// goroutines. Rows that an error names are counted from the first of the run.
func (p *Prepared) Eval(ctx context.Context, from, n int64, columns []*memory.Column) (*memory.Column, error) {
	window := make([]*memory.Column, len(columns))
	defer func() {
		for _, c := range window {
			if c != nil {
				c.Release()
			}
		}
	}()
	for _, i := range p.e.bound.reads {
		var err error
		if window[i], err = columns[i].Slice(from, n); err != nil {
			return nil, err
		}
	}
	all, err := p.e.evalFused(ctx, n, window)
	if err != nil {
		return nil, err
	}
	for _, c := range all[1:] {
		c.Release()
	}
	return all[0], nil
}

// EvalAll computes every result over all rows, as Bound.EvalAll does: for a
// caller with one batch after the other.
func (p *Prepared) EvalAll(ctx context.Context, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
	if err := p.e.bound.check(rows, columns); err != nil {
		return nil, err
	}
	return p.e.evalAll(ctx, rows, columns)
}

// Release gives back the constants. On nil it does nothing.
func (p *Prepared) Release() {
	if p != nil {
		p.e.release()
	}
}
