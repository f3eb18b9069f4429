package gang

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

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
	numbers := make([]int, len(all))
	for i := range numbers {
		numbers[i] = i
	}
	return m.stacked(ctx, "gang.Get", r, numbers, all)
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

// stacked is one table of several, which it takes over: of the parts with these numbers in a reference. A part without rows or a column of type null
// takes the others' types, and indices of dictionaries become as wide as the widest.
func (m *member) stacked(ctx context.Context, call string, r Ref, numbers []int, all []any) (*table.Table, error) {
	defer release(all)
	here := make([]any, 0, len(all))
	defer func() { release(here) }()
	schemas, rows := make([]*arrow.Schema, len(all)), make([]int64, len(all))
	same := true
	for i, v := range all {
		t, ok := v.(*table.Table)
		if !ok {
			return nil, device.Errorf(device.ErrMismatch, "", call, "%s is a %T, not a table", r.part(numbers[i]), v)
		}
		moved, err := t.To(ctx, m.backend)
		if err != nil {
			return nil, err
		}
		here = append(here, moved)
		schemas[i], rows[i] = moved.Schema(), moved.NumRows()
		same = same && schemas[i].Equal(schemas[0])
	}
	schema := schemas[0]
	if !same {
		var texts []string
		if schema, texts = table.CommonSchema(schemas, rows); texts != nil {
			for i := range texts {
				texts[i] = r.part(numbers[i]) + ": " + texts[i]
			}
			return nil, device.Errorf(device.ErrMismatch, "", call, "parts of different columns: %s", strings.Join(texts, "; "))
		}
	}
	var chunks []*table.Batch
	for i, v := range here {
		if rows[i] == 0 {
			continue
		}
		typed, err := v.(*table.Table).WithTypes(ctx, schema)
		if err != nil {
			releaseAll(chunks)
			return nil, fmt.Errorf("gang: %s: %w", r.part(numbers[i]), err)
		}
		for _, c := range typed.Chunks() {
			chunks = append(chunks, c.Retain())
		}
		typed.Release()
	}
	return table.NewTable(m.backend, schema, chunks)
}

// Redistribute is this worker's part of a table that lies in parts on some ranks: all workers, or those named, have parts of equal length,
// in the table's order. Each asks those alone that have rows of its own, so that M parts go to N ranks with at most M+N-1 messages; nobody
// waits for another one's call. Who has got a column of type null asks for the others' columns besides, until one of them has a type for it.
func (w *Worker) Redistribute(ctx context.Context, r Ref, ranks ...int) (*table.Table, error) {
	const call = "gang.Redistribute"
	if err := w.check(r); err != nil {
		return nil, err
	}
	total, ok := r.rows()
	if !ok {
		return nil, device.Errorf(device.ErrMismatch, "", call, "%v is not a table", r)
	}
	at, n := w.Rank(), w.Size()
	if len(ranks) > 0 {
		if at, n = slices.Index(ranks, w.Rank()), len(ranks); at < 0 {
			return nil, device.Errorf(device.ErrMismatch, "", call, "ranks %v: this rank, %d, is not among them", ranks, w.Rank())
		}
	}
	from, to := share(total, at, n), share(total, at+1, n)
	var all []any
	var numbers []int
	fetch := func(i int, offset, rows int64) error {
		v, err := w.fetch(ctx, r.Parts[i], offset, rows)
		if err != nil {
			release(all)
			return err
		}
		all, numbers = append(all, v), append(numbers, i)
		return nil
	}
	begin := int64(0)
	for i, p := range r.Parts {
		low, high := max(from, begin), min(to, begin+p.Rows)
		if low < high {
			if err := fetch(i, low-begin, high-low); err != nil {
				return nil, err
			}
		}
		begin += p.Rows
	}
	for _, some := range []bool{true, false} { // parts with rows say first what types the columns have
		for i, p := range r.Parts {
			if (p.Rows > 0) == some && !slices.Contains(numbers, i) && untyped(all) {
				if err := fetch(i, 0, 0); err != nil {
					return nil, err
				}
			}
		}
	}
	return w.stacked(ctx, call, r, numbers, all)
}

// untyped reports whether there are no columns yet, or one that has the type null in all tables.
func untyped(all []any) bool {
	typed := map[int]bool{}
	columns := 0
	for _, v := range all {
		t, ok := v.(*table.Table)
		if !ok {
			return false // which is an error
		}
		columns = max(columns, t.NumColumns())
		for i, f := range t.Schema().Fields() {
			typed[i] = typed[i] || f.Type.ID() != arrow.NULL
		}
	}
	for i := range columns {
		if !typed[i] {
			return true
		}
	}
	return columns == 0
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
