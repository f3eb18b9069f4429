package peers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// The names of ours: in any order where peers promise none, and in the default one.
const (
	oursName    = "volley"
	orderedName = "volley-ordered"
)

// ours is the contender in this process.
type ours struct {
	backend *kernels.Backend
	ordered bool // groups and joined rows in the order that is promised without AnyOrder

	problem *problem
	at      *onOurs
	ways    []ourWay
}

func (o *ours) name() string {
	if o.ordered {
		return orderedName
	}
	return oursName
}

func (o *ours) release() string { return report.Version() }

func (o *ours) load(ctx context.Context, p *problem, s *stage) (ways []way, lacks string, err error) {
	if o.ordered && !p.anyOrder {
		return nil, "the same as volley: the operation has an order", nil
	}
	o.problem = p
	o.at = &onOurs{backend: o.backend, tables: map[string]*table.Table{}, path: s.file, anyOrder: !o.ordered}
	for name, path := range s.ipc {
		if o.at.tables[name], err = storage.ReadIPC(ctx, o.backend, path, storage.ReadOptions{}); err != nil {
			delete(o.at.tables, name)
			return nil, "", err
		}
	}
	if s.file == "" {
		for name, r := range s.records {
			if o.at.tables[name], err = table.FromRecord(o.backend, r); err != nil {
				delete(o.at.tables, name)
				return nil, "", err
			}
		}
	}
	if o.ways, err = p.ours(o.at); err != nil {
		return nil, "", err
	}
	for _, w := range o.ways {
		ways = append(ways, way{w.name, true})
	}
	return ways, "", nil
}

func (o *ours) way(name string) (ourWay, error) {
	i := slices.IndexFunc(o.ways, func(w ourWay) bool { return w.name == name })
	if i < 0 {
		return ourWay{}, fmt.Errorf("peers: %s has no way %q to %s", o.name(), name, o.problem.name)
	}
	return o.ways[i], nil
}

func (o *ours) check(ctx context.Context, name string) (*checked, error) {
	w, err := o.way(name)
	if err != nil {
		return nil, err
	}
	if pool, ok := o.backend.Device.Memory().(interface{ Trim() int64 }); ok {
		pool.Trim()
	}
	runtime.GC()
	before, known := int64(0), report.ResetPeakRSS()
	if known == nil {
		before, known = report.PeakRSS()
	}
	start := time.Now()
	got, err := w.run(ctx)
	c := &checked{seconds: time.Since(start).Seconds()}
	if err != nil {
		return nil, err
	}
	defer got.Release()
	if known == nil {
		peak, err := report.PeakRSS()
		if err != nil {
			return nil, err
		}
		c.growth = report.Of(max(peak-before, 0))
	}
	batches, err := got.batches()
	if err != nil {
		return nil, err
	}
	f, err := fingerprint(batches, o.problem.columns, o.problem.order)
	for _, b := range batches {
		b.Release()
	}
	if err != nil {
		return nil, err
	}
	c.Fingerprint = *f
	return c, nil
}

func (o *ours) run(ctx context.Context, name string, atLeast time.Duration, most int) (turn, error) {
	w, err := o.way(name)
	if err != nil {
		return turn{}, err
	}
	return repeat(ctx, atLeast, most, func(ctx context.Context) (func(), error) {
		got, err := w.run(ctx)
		if err != nil {
			return nil, err
		}
		return got.Release, nil
	})
}

// repeat is a turn of a contender in this process: f again and again, and after
// each, which does not count, what it gives back.
func repeat(ctx context.Context, atLeast time.Duration, most int, f func(context.Context) (func(), error)) (t turn, err error) {
	runtime.GC()
	cpu, known := report.CPUTime()
	start := time.Now()
	for {
		begin := time.Now()
		release, err := f(ctx)
		if err != nil {
			return turn{}, err
		}
		t.Seconds = append(t.Seconds, time.Since(begin).Seconds())
		release()
		t.Wall = time.Since(start).Seconds()
		if len(t.Seconds) >= most || t.Wall >= atLeast.Seconds() {
			break
		}
	}
	if known == nil {
		after, err := report.CPUTime()
		if err != nil {
			return turn{}, err
		}
		t.CPU = (after - cpu).Seconds()
	}
	return t, nil
}

func (o *ours) unload(context.Context) error {
	if o.at == nil {
		return nil
	}
	var errs []error
	for _, t := range o.at.tables {
		t.Release()
	}
	if o.at.stream != nil {
		errs = append(errs, o.at.stream.Close())
	}
	o.at, o.ways = nil, nil
	return errors.Join(errs...)
}
