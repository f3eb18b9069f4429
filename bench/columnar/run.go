package columnar

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/transfer"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Options are what to run and on what.
type Options struct {
	Backends []*kernels.Backend
	Rows     int64            // rows of each input, below 2^31
	Ops      []string         // names as [Names] lists them
	Runs     int              // timed runs of each operation
	Threads  int              // threads that the CPU has, for the records
	Limit    report.Bandwidth // what the machine's memory can do: the limit of backends on the host
}

// Run measures each operation on each backend, after a copy of the rows inside
// the memory of each device of its own, which is the limit of the operations
// there (a record of the operation "device_copy"). An answer that is wrong is a
// record whose OK is false, with the difference as a line to p; anything else
// that goes wrong ends the suite. It stops within 100 ms of the end of ctx,
// but for the making and checking of data, which it finishes.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) error {
	if o.Rows < 1 || o.Rows > math.MaxInt32 {
		return fmt.Errorf("columnar: %d rows, from 1 to %d are possible", o.Rows, math.MaxInt32)
	}
	sizes := &report.Grid{
		Title:  fmt.Sprintf("Memory at %s rows", report.Count(o.Rows)),
		Header: []string{"op", "device", "input", "output", "peak above the start", "of output", "of input + output"},
		Left:   []bool{true, true},
		Note:   "The peak is that of the process's resident memory while the operation runs, above what it held with the input in place.",
	}
	limits := make([]report.Bandwidth, len(o.Backends))
	for i, b := range o.Backends {
		var err error
		if limits[i], err = limitOf(ctx, b, o, to, p); err != nil {
			return err
		}
	}
	for _, name := range o.Ops {
		i := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
		if i < 0 {
			return fmt.Errorf("columnar: no operation %q; there are %v", name, Names())
		}
		for k, b := range o.Backends {
			p.Start(name+" on "+b.Device.Name(), int64(o.Runs))
			r, m, err := measure(ctx, operations[i], b, limits[k], o, p)
			p.Done()
			if err != nil {
				return fmt.Errorf("columnar: %s on %s: %w", name, b.Device.Name(), err)
			}
			if err := to.Record(r); err != nil {
				return err
			}
			if m != nil {
				m.add(sizes, r)
			}
		}
	}
	if len(sizes.Rows) == 0 {
		return nil
	}
	return to.Answer(report.Answer{Suite: "columnar", Value: sizes.Rows, Grid: sizes})
}

// limitOf is what the memory of a backend can do: that of the machine, or of the
// device as it is measured here.
func limitOf(ctx context.Context, b *kernels.Backend, o Options, to report.Sink, p progress.Progress) (report.Bandwidth, error) {
	if b.Device.Place() == memory.Host {
		return o.Limit, nil
	}
	p.Start("device_copy on "+b.Device.Name(), 0)
	r, err := transfer.DeviceCopy(ctx, b, "columnar", transfer.Options{Rows: o.Rows, Runs: o.Runs, Threads: o.Threads})
	p.Done()
	if err != nil {
		return report.Bandwidth{}, fmt.Errorf("columnar: device_copy on %s: %w", b.Device.Name(), err)
	}
	limit := report.Bandwidth{}
	if r.GBs != nil {
		limit.ReadGBs, limit.CopyGBs = *r.GBs, *r.GBs
	}
	return limit, to.Record(r)
}

// memoryUse is what one run of an operation took.
type memoryUse struct{ input, output, peak int64 }

func (m *memoryUse) add(g *report.Grid, r report.Record) {
	ratio := func(part, whole int64) string {
		if whole == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f", float64(part)/float64(whole))
	}
	g.Add(r.Op, r.Device, report.Bytes(m.input), report.Bytes(m.output), report.Bytes(m.peak),
		ratio(m.peak, m.output), ratio(m.input+m.peak, m.input+m.output))
}

// measure runs one operation: once for the peak of memory and the answer, then
// for the time.
func measure(ctx context.Context, op operation, b *kernels.Backend, of report.Bandwidth, o Options, p progress.Progress) (report.Record, *memoryUse, error) {
	info := b.Device.Info()
	r := report.Record{
		Suite: "columnar", Op: op.name, Engine: "volley", Version: report.Version(),
		Device: b.Device.Name(), Model: info.Model, Driver: info.Driver, Rows: report.Of(o.Rows), Threads: o.Threads,
	}
	j, err := op.make(ctx, b, o.Rows)
	if err != nil {
		return r, nil, err
	}
	defer j.release()
	var m *memoryUse
	trim(b)
	before, known := int64(0), report.ResetPeakRSS()
	if known == nil {
		before, known = report.PeakRSS()
	}
	got, err := j.run(ctx)
	if err != nil {
		return r, nil, err
	}
	if known == nil {
		peak, err := report.PeakRSS()
		if err != nil {
			got.Release()
			return r, nil, err
		}
		r.PeakRSSBytes = report.Of(peak)
		m = &memoryUse{j.input, j.written, peak - before}
	}
	wrong := got.check()
	got.Release()
	if r.OK = report.Of(wrong == nil); wrong != nil {
		p.Start(fmt.Sprintf("%s on %s is wrong: %v", op.name, r.Device, wrong), 0)
	}
	t, err := report.Measure(ctx, o.Runs, func(ctx context.Context) error {
		got, err := j.run(ctx)
		if err != nil {
			return err
		}
		got.Release()
		p.Add(1)
		return nil
	})
	r.SetTiming(t)
	limit := of.CopyGBs
	if j.written*10 < j.read {
		limit = of.ReadGBs
	}
	r.SetBytes(j.read+j.written, limit)
	return r, m, err
}

// trim makes the backend's pool give back what it keeps of earlier operations,
// which would hide what this one takes.
func trim(b *kernels.Backend) {
	if pool, ok := b.Device.Memory().(interface{ Trim() int64 }); ok {
		pool.Trim()
	}
}
