package transfer

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Options are what to run and on what.
type Options struct {
	Backends []*kernels.Backend
	Rows     int64            // values of eight bytes that each copy moves
	Runs     int              // timed runs of each copy
	Threads  int              // threads that the CPU has, for the records
	LinkGBs  float64          // what the link to the device carries one way; 0 where it is not known
	Limit    report.Bandwidth // what the machine's memory can do
}

// memories are the kinds of memory of a copy.
const (
	onDevice = iota
	pageable
	pinned
)

// path is a copy that the suite measures.
type path struct {
	name     string
	from, to int
}

var paths = []path{
	{"device_copy", onDevice, onDevice},
	{"h2d_pageable", pageable, onDevice},
	{"h2d_pinned", pinned, onDevice},
	{"d2h_pageable", onDevice, pageable},
	{"d2h_pinned", onDevice, pinned},
}

// Run measures each copy on each backend. The bytes of a record are those read
// and written for a copy inside a device, whose share is of nothing but on the
// host, and those that cross the link for the others, whose share is that of the
// link where it is known. A device that works on host memory has only the first;
// an answer says so. A copy that arrives otherwise than it was sent is a record
// whose OK is false.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) error {
	if o.Rows < 1 {
		return fmt.Errorf("transfer: %d rows, at least 1 is needed", o.Rows)
	}
	for _, b := range o.Backends {
		of := paths
		if b.Device.Place() == memory.Host {
			of = paths[:1]
		}
		for _, path := range of {
			p.Start(path.name+" on "+b.Device.Name(), int64(o.Runs))
			r, err := measure(ctx, b, path, o)
			p.Done()
			if err != nil {
				return fmt.Errorf("transfer: %s on %s: %w", path.name, b.Device.Name(), err)
			}
			if err := to.Record(r); err != nil {
				return err
			}
		}
		if len(of) < len(paths) {
			g := &report.Grid{Title: "Transfers", Header: []string{"device", "note"}, Left: []bool{true, true}}
			g.Add(b.Device.Name(), "works on host memory: nothing to transfer")
			if err := to.Answer(report.Answer{Suite: "transfer", Value: g.Rows, Grid: g}); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeviceCopy measures a copy of rows values of eight bytes inside a backend's
// device, as a record of the named suite.
func DeviceCopy(ctx context.Context, b *kernels.Backend, suite string, o Options) (report.Record, error) {
	r, err := measure(ctx, b, paths[0], o)
	r.Suite = suite
	return r, err
}

func measure(ctx context.Context, b *kernels.Backend, path path, o Options) (report.Record, error) {
	info := b.Device.Info()
	r := report.Record{
		Suite: "transfer", Op: path.name, Engine: "volley", Version: report.Version(), Device: b.Device.Name(),
		Model: info.Model, Driver: info.Driver, Rows: report.Of(o.Rows), Threads: o.Threads,
	}
	c, err := newCopying(ctx, b, path, 8*o.Rows)
	if err != nil {
		return r, err
	}
	defer c.close()
	t, err := report.Measure(ctx, o.Runs, c.run)
	if err != nil {
		return r, err
	}
	r.SetTiming(t)
	switch {
	case path.from != path.to:
		r.SetBytes(8*o.Rows, o.LinkGBs)
	case b.Device.Place() == memory.Host:
		r.SetBytes(16*o.Rows, o.Limit.CopyGBs)
	default:
		r.SetBytes(16*o.Rows, 0)
	}
	right, err := c.arrived(ctx)
	r.OK = report.Of(right)
	return r, err
}

// allocator is that of a kind of memory.
func allocator(d device.Device, kind int) memory.Allocator {
	switch kind {
	case pageable:
		return memory.Heap
	case pinned:
		return d.Pinned()
	default:
		return d.Memory()
	}
}
