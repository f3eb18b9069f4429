package flights

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// The epoch that is drawn of the fit's terms.
const (
	batchRows = 4096
	epochSeed = 7
	target    = "delay"
)

// epoch is the fit's terms on a device, to be drawn in a shuffled order.
type epoch struct {
	terms *table.Table
	seen  []uint8 // how often each row has come, up to 255
}

// draw makes a loader and lets one epoch of float32 batches through it, each in the
// memory of the terms' device, where it is gathered from them. look, if not nil, gets
// a copy of it on the host: rows are the batch's, x their terms, row by row, and y
// their delays.
func (e *epoch) draw(ctx context.Context, look func(rows []int64, x, y []float32) error) (err error) {
	clear(e.seen)
	o := dataloader.Options{Labels: []string{target}, Batch: batchRows, Shuffle: true, Seed: epochSeed, Epochs: 1}
	take := hostElements
	if d := e.terms.Backend().Device; !d.Place().HostAccessible() {
		o.Device = d
		s, err := d.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		take = func(ctx context.Context, b dataloader.Batch, copied bool) (x, y []float32, err error) {
			return deviceElements(ctx, s, b, copied)
		}
	}
	l, err := dataloader.New(ctx, dataloader.FromTable(e.terms), o)
	if err != nil {
		return err
	}
	defer l.Close()
	for b, err := range l.Batches(ctx) {
		if err != nil {
			return err
		}
		rows, err := b.Rows()
		if err != nil {
			return err
		}
		for _, r := range rows {
			if e.seen[r] < 255 {
				e.seen[r]++
			}
		}
		x, y, err := take(ctx, b, look != nil)
		if err != nil {
			return err
		}
		if look == nil {
			continue
		}
		if err := look(rows, x, y); err != nil {
			return err
		}
	}
	return l.Close()
}

// hostElements is the elements of a batch in the host's memory, which need no copy.
func hostElements(_ context.Context, b dataloader.Batch, _ bool) (x, y []float32, err error) {
	features, err := b.Features()
	if err != nil {
		return nil, nil, err
	}
	labels, err := b.Labels()
	if err != nil {
		return nil, nil, err
	}
	if x, err = dataloader.Elements[float32](features); err != nil {
		return nil, nil, err
	}
	y, err = dataloader.Elements[float32](labels)
	return x, y, err
}

// deviceElements waits until a batch is in its device's memory, and copies its elements to
// the host, if they are asked for.
func deviceElements(ctx context.Context, s device.Stream, b dataloader.Batch, copied bool) (x, y []float32, err error) {
	features, err := b.FeaturesOnDevice()
	if err != nil {
		return nil, nil, err
	}
	labels, err := b.LabelsOnDevice()
	if err != nil {
		return nil, nil, err
	}
	if err := b.Wait(ctx); err != nil || !copied {
		return nil, nil, err
	}
	there := []dataloader.DeviceTensor{features, labels}
	for i, to := range []*[]float32{&x, &y} {
		host, err := memory.New(memory.Heap, there[i].Size)
		if err != nil {
			return nil, nil, err
		}
		defer host.Release()
		if err := s.Copy(host, 0, there[i].Buffer, there[i].Offset, there[i].Size); err != nil {
			return nil, nil, err
		}
		if err := s.Wait(ctx); err != nil {
			return nil, nil, err
		}
		*to = slices.Clone(memory.View[float32](host))
	}
	return x, y, nil
}

// once is nil when every row has come exactly once.
func (e *epoch) once() error {
	if r := slices.IndexFunc(e.seen, func(n uint8) bool { return n != 1 }); r >= 0 {
		return fmt.Errorf("row %d came %d times in an epoch", r, e.seen[r])
	}
	return nil
}

// check is nil when the last epoch had every row once, and another one has, with
// the values of the table in each.
func (e *epoch) check(ctx context.Context) error {
	if err := e.once(); err != nil {
		return err
	}
	values := map[string][]float64{}
	terms := e.terms
	if b := terms.Backend(); !b.Device.Place().HostAccessible() {
		s, err := b.NewStream()
		if err != nil {
			return err
		}
		defer s.Close() // its failures are those of the copies waited for
		if terms, _, err = toHost(b, s).copyTable(ctx, terms); err != nil {
			return err
		}
		defer terms.Release()
	}
	for _, f := range terms.Schema().Fields() {
		v, err := table.Values[float64](terms, f.Name)
		if err != nil {
			return err
		}
		values[f.Name] = v
	}
	return e.held(ctx, values)
}

// held draws an epoch and holds it against values of some of the terms.
func (e *epoch) held(ctx context.Context, values map[string][]float64) error {
	k := e.terms.NumColumns() - 1 // the delay comes last
	err := e.draw(ctx, func(rows []int64, x, y []float32) error {
		for c, f := range e.terms.Schema().Fields() {
			v, from, stride := values[f.Name], x, k
			if v == nil {
				continue
			}
			if c == k {
				c, from, stride = 0, y, 1
			}
			for i, r := range rows {
				if got := from[i*stride+c]; got != float32(v[r]) {
					return fmt.Errorf("%s of row %d is %v, not %v", f.Name, r, got, v[r])
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.once()
}

// batches times a shuffled epoch of the fit's terms, joined on the engine's device and
// drawn there.
func (s *suite) batches(ctx context.Context, e engine, d *data) (bool, error) {
	terms, err := design(ctx, d.flights, d.airports)
	if err != nil {
		return false, err
	}
	defer terms.Release()
	drawn := epoch{terms, make([]uint8, terms.NumRows())}
	// A value is read as float64 and written as float32.
	bytes := terms.NumRows() * int64(terms.NumColumns()) * (8 + 4)
	return s.step(ctx, e, "batches", terms.NumRows(), bytes, func(ctx context.Context) error {
		return drawn.draw(ctx, nil)
	}, func() error { return drawn.check(ctx) })
}
