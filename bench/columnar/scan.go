package columnar

import (
	"context"
	"fmt"
	"math"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// columnResult is one column, or a few, and what they should hold on the host.
type columnResult struct {
	backend *kernels.Backend
	stream  device.Stream
	columns []*memory.Column
	holds   func(columns []*memory.Column) error
}

func (r columnResult) check() error {
	var here []*memory.Column
	defer func() { columnResult{columns: here}.Release() }()
	for _, c := range r.columns {
		h, err := r.backend.OnHost(context.Background(), r.stream, c)
		if err != nil {
			return err
		}
		here = append(here, h)
	}
	return r.holds(here)
}

func (r columnResult) Release() {
	for _, c := range r.columns {
		c.Release()
	}
}

// onColumn makes the job that runs f on one column of floats, and waits until
// the device has done it.
func onColumn(ctx context.Context, b *kernels.Backend, s device.Stream, n, written int64,
	f func(ctx context.Context, c *memory.Column) ([]*memory.Column, error),
	holds func(v []float64, got []*memory.Column) error) (*job, error) {
	v := floats(random(0), n)
	c, err := upload(ctx, b, v)
	if err != nil {
		return nil, err
	}
	return &job{
		run: func(ctx context.Context) (result, error) {
			columns, err := f(ctx, c)
			if err == nil {
				err = s.Wait(ctx)
			}
			if err != nil {
				columnResult{columns: columns}.Release()
				return nil, err
			}
			return columnResult{b, s, columns, func(got []*memory.Column) error { return holds(v, got) }}, nil
		},
		input: 8 * n, read: 8 * n, written: written, release: c.Release,
	}, nil
}

// reduction reduces a column of floats by each of some aggregations.
func reduction(ops ...kernels.Aggregation) func(context.Context, *kernels.Backend, int64) (*job, error) {
	return func(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
		s, err := b.NewStream()
		if err != nil {
			return nil, err
		}
		j, err := onColumn(ctx, b, s, n, 0, func(ctx context.Context, c *memory.Column) (out []*memory.Column, err error) {
			for _, op := range ops {
				r, err := b.Reduce(ctx, s, op, c, kernels.AggregateOptions{})
				if err != nil {
					return out, err
				}
				out = append(out, r)
			}
			return out, nil
		}, func(v []float64, got []*memory.Column) error {
			for i, op := range ops {
				want := reduce(op, v)
				if g := memory.Values[float64](got[i])[0]; math.Abs(g-want) > 1e-12*math.Abs(want) {
					return fmt.Errorf("aggregation %d is %v, not %v", op, g, want)
				}
			}
			return nil
		})
		if err != nil {
			s.Close()
			return nil, err
		}
		j.read *= int64(len(ops))
		return closing(j, s), nil
	}
}

// reduce is the plain loop.
func reduce(op kernels.Aggregation, v []float64) float64 {
	x, lost := v[0], 0.0
	for _, y := range v[1:] {
		switch op {
		case kernels.Min:
			x = min(x, y)
		case kernels.Max:
			x = max(x, y)
		default: // Kahan's sum
			y -= lost
			t := x + y
			lost = t - x - y
			x = t
		}
	}
	return x
}

// closer is a stream, or anything to close after a job.
type closer interface{ Close() error }

// closing closes c when the job is released.
func closing(j *job, c closer) *job {
	release := j.release
	j.release = func() { release(); c.Close() }
	return j
}

// filterCount counts the values below 0.1: a comparison and a sum of truths.
func filterCount(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	j, err := onColumn(ctx, b, s, n, 0, func(ctx context.Context, c *memory.Column) ([]*memory.Column, error) {
		mask, err := b.Compare(ctx, s, kernels.Less, c, kernels.Float64(0.1))
		if err != nil {
			return nil, err
		}
		defer mask.Release()
		r, err := b.Reduce(ctx, s, kernels.Sum, mask, kernels.AggregateOptions{})
		return []*memory.Column{r}, err
	}, func(v []float64, got []*memory.Column) error {
		var want uint64
		for _, x := range v {
			if x < 0.1 {
				want++
			}
		}
		if g := memory.Values[uint64](got[0])[0]; g != want {
			return fmt.Errorf("%d values below 0.1, not %d", g, want)
		}
		return nil
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return closing(j, s), nil
}

// cumsum is the running sum of a column of floats.
func cumsum(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	j, err := onColumn(ctx, b, s, n, 8*n, func(ctx context.Context, c *memory.Column) ([]*memory.Column, error) {
		r, err := b.Scan(ctx, s, kernels.CumulativeSum, c, kernels.ScanOptions{})
		return []*memory.Column{r}, err
	}, func(v []float64, got []*memory.Column) error {
		g, want := memory.Values[float64](got[0]), 0.0
		if len(g) != len(v) {
			return fmt.Errorf("%d rows, not %d", len(g), len(v))
		}
		for i, x := range v {
			if want += x; math.Abs(g[i]-want) > 1e-9*want {
				return fmt.Errorf("row %d is %v, not %v", i, g[i], want)
			}
		}
		return nil
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return closing(j, s), nil
}
