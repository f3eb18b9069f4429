package gemm

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
)

// Engine is a way of multiplying on a device.
type Engine struct {
	Name string // of the records: "volley", "cublas"
	*kernels.Backend
}

// Options are what to run and on what.
type Options struct {
	Engines []Engine
	Rows    int64 // elements that a matrix has at most
	Runs    int   // timed runs of each product
	Threads int   // threads that the CPU has, for the records
}

// widths are the orders of the matrices, as far as their elements are permitted.
var widths = []int64{1024, 4096, 8192}

// orders are the orders of the matrices that have at most so many elements: the
// largest possible one where even the least of widths has more.
func orders(elements int64) []int64 {
	var all []int64
	for _, n := range widths {
		if n*n <= elements {
			all = append(all, n)
		}
	}
	if all == nil {
		all = []int64{int64(math.Sqrt(float64(elements)))}
	}
	return all
}

// types are the elements, with the names that they have in the operations'.
var types = []struct {
	name string
	of   arrow.DataType
}{{"f32", arrow.PrimitiveTypes.Float32}, {"f64", arrow.PrimitiveTypes.Float64}}

// Run measures C = A * B by each engine, in each type that it takes and at each
// order; p is told of a type that it does not take. Rows of a record are those
// of the matrices, its floating-point operations 2n³. An element of C that is
// further off than the contract of [kernels.GEMMFunc] permits is a record whose
// OK is false; sampled elements are looked at.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) error {
	if o.Rows < 1 {
		return fmt.Errorf("gemm: matrices of %d elements, at least 1 is needed", o.Rows)
	}
	for _, t := range types {
		for _, n := range orders(o.Rows) {
			for _, e := range o.Engines {
				what := fmt.Sprintf("gemm_%s by %s on %s", t.name, e.Name, e.Device.Name())
				if !e.Set.GEMM.Types.Has(t.of.ID()) {
					p.Start(what+": not for this type", 0)
					p.Done()
					continue
				}
				p.Start(fmt.Sprintf("%s, order %d", what, n), int64(o.Runs))
				r, err := measure(ctx, e, t.name, t.of, n, o)
				p.Done()
				if err != nil {
					return fmt.Errorf("gemm: %s, order %d: %w", what, n, err)
				}
				if err := to.Record(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func measure(ctx context.Context, e Engine, name string, of arrow.DataType, n int64, o Options) (report.Record, error) {
	info := e.Device.Info()
	r := report.Record{
		Suite: "gemm", Op: fmt.Sprintf("gemm_%s_%d", name, n), Engine: e.Name, Version: report.Version(), Device: e.Device.Name(),
		Model: info.Model, Driver: info.Driver, Rows: report.Of(n), Threads: o.Threads,
	}
	var p product
	var err error
	if of.ID() == arrow.FLOAT32 {
		p, err = newProduct[float32](ctx, e.Backend, of, n)
	} else {
		p, err = newProduct[float64](ctx, e.Backend, of, n)
	}
	if err != nil {
		return r, err
	}
	defer p.close()
	t, err := report.Measure(ctx, o.Runs, p.run)
	if err != nil {
		return r, err
	}
	r.SetTiming(t)
	r.SetBytes(p.bytes(), 0)
	if *r.MedianS > 0 {
		f := float64(n)
		r.GFLOPs = report.Of(2 * f * f * f / *r.MedianS / 1e9)
	}
	wrong, err := p.check(ctx)
	r.OK = report.Of(!wrong)
	return r, err
}
