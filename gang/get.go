package gang

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// mapped is the table of a file, over its memory; a device whose memory is not the host's reads it.
func mapped(ctx context.Context, backend *kernels.Backend, path string) (*table.Table, error) {
	if !backend.Device.Place().HostAccessible() {
		return storage.ReadIPC(ctx, backend, path, storage.ReadOptions{})
	}
	return storage.MapIPC(ctx, backend, storage.IPC(path), nil)
}

// check refuses a reference of another gang, or of another generation of this one.
func (m *member) check(r Ref) error {
	switch {
	case r.Run != m.invitation.run || len(r.Parts) == 0:
		return device.Errorf(device.ErrMismatch, "", "gang.Get", "%v is of another gang", r)
	case r.Generation < m.invitation.generation:
		return fmt.Errorf("gang: %v: %w: this is generation %d", r, ErrStale, m.invitation.generation)
	case r.Generation != m.invitation.generation:
		return device.Errorf(device.ErrMismatch, "", "gang.Get", "%v is of generation %d, this is %d", r, r.Generation, m.invitation.generation)
	}
	return nil
}

// Get fetches a value, which the caller releases if it is a table: within a process the holder's own, on one machine a table over
// shared memory, else a copy. Of a reference with several parts it is one table of all rows, in order, or, of what are no tables, an []any.
func (m *member) Get(ctx context.Context, r Ref) (any, error) {
	if err := m.check(r); err != nil {
		return nil, err
	}
	if len(r.Parts) == 1 {
		return m.fetch(ctx, r.Parts[0], 0, -1)
	}
	all := make([]any, 0, len(r.Parts))
	for _, p := range r.Parts {
		v, err := m.fetch(ctx, p, 0, -1)
		if err != nil {
			release(all)
			return nil, err
		}
		all = append(all, v)
	}
	if _, ok := r.rows(); !ok {
		return all, nil
	}
	return m.stacked(ctx, all)
}

// Table is Get of a table.
func (m *member) Table(ctx context.Context, r Ref) (*table.Table, error) {
	v, err := m.Get(ctx, r)
	if err != nil {
		return nil, err
	}
	t, ok := v.(*table.Table)
	if !ok {
		release(v)
		return nil, device.Errorf(device.ErrMismatch, "", "gang.Table", "%v is a %T", r, v)
	}
	return t, nil
}

// fetch has one part come, or some rows of it.
func (m *member) fetch(ctx context.Context, p Part, offset, rows int64) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, m.named(ctx, "Get", err)
	}
	if other := m.near(p.Rank); other != nil {
		return other.value(p.Number, offset, rows)
	}
	body := wanted{p.Number, offset, rows, m.machine}.bytes()
	answer, err := m.node.Ask(ctx, p.Rank, verbGet, [][]byte{body}, nil)
	if err != nil {
		return nil, m.named(ctx, "Get", err)
	}
	return m.take(ctx, answer)
}

// stacked is one table of several, which it takes over.
func (m *member) stacked(ctx context.Context, all []any) (*table.Table, error) {
	defer release(all)
	var chunks []*table.Batch
	var first *table.Table
	for _, v := range all {
		t, ok := v.(*table.Table)
		if !ok {
			releaseAll(chunks)
			return nil, device.Errorf(device.ErrMismatch, "", "gang.Get", "a part is a %T, not a table", v)
		}
		if first == nil {
			first = t
		}
		here, err := t.To(ctx, m.backend)
		if err == nil && !here.Schema().Equal(first.Schema()) {
			here.Release()
			err = device.Errorf(device.ErrMismatch, "", "gang.Get", "parts of different columns: %v and %v", first.Schema(), here.Schema())
		}
		if err != nil {
			releaseAll(chunks)
			return nil, err
		}
		for _, c := range here.Chunks() {
			chunks = append(chunks, c.Retain())
		}
		here.Release()
	}
	return table.NewTable(m.backend, first.Schema(), slices.Clone(chunks))
}

// Redistribute is this worker's part of a table that lies in parts on some ranks: all workers, or those named, have parts of equal length,
// in the table's order. Each asks those alone that have rows of its own, so that M parts go to N ranks with at most M+N-1 messages; nobody
// waits for another one's call.
func (w *Worker) Redistribute(ctx context.Context, r Ref, ranks ...int) (*table.Table, error) {
	if err := w.check(r); err != nil {
		return nil, err
	}
	total, ok := r.rows()
	if !ok {
		return nil, device.Errorf(device.ErrMismatch, "", "gang.Redistribute", "%v is not a table", r)
	}
	at, n := w.Rank(), w.Size()
	if len(ranks) > 0 {
		if at, n = slices.Index(ranks, w.Rank()), len(ranks); at < 0 {
			return nil, device.Errorf(device.ErrMismatch, "", "gang.Redistribute", "ranks %v: this rank, %d, is not among them", ranks, w.Rank())
		}
	}
	from, to := share(total, at, n), share(total, at+1, n)
	var all []any
	begin := int64(0)
	for _, p := range r.Parts {
		low, high := max(from, begin), min(to, begin+p.Rows)
		if low < high || from == to && len(all) == 0 && begin+p.Rows >= from { // who has no rows asks one for the columns
			v, err := w.fetch(ctx, p, min(low, begin+p.Rows)-begin, max(0, high-low))
			if err != nil {
				release(all)
				return nil, err
			}
			all = append(all, v)
		}
		begin += p.Rows
	}
	return w.stacked(ctx, all)
}

// share is where the part of a rank begins.
func share(total int64, at, n int) int64 {
	each, more := total/int64(n), total%int64(n)
	return each*int64(at) + min(int64(at), more)
}

// Drop has the holders forget a value. A holder that has gone has.
func (m *member) Drop(ctx context.Context, r Ref) error {
	if err := m.check(r); err != nil {
		return err
	}
	for _, p := range r.Parts {
		if other := m.near(p.Rank); other != nil {
			other.drop(p.Number)
			continue
		}
		if m.node.Gone(p.Rank) != nil {
			continue
		}
		if _, err := m.node.Ask(ctx, p.Rank, verbDrop, [][]byte{wanted{number: p.Number}.bytes()}, nil); err != nil && m.node.Gone(p.Rank) == nil {
			return m.named(ctx, "Drop", err)
		}
	}
	return nil
}
