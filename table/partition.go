package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Partition splits the table into n tables by a hash of key columns: row i goes to
// part floor(h·n / 2^64), where h is kernels.HashFunc of its keys with the seed 0. So
// rows of equal keys go to one part, on every device, for every chunking and in every
// process. All parts have the table's columns, rows in the table's order, and the
// table's device. The caller releases them.
//
// Keys are equal by their values:
//   - Null is a value like others; NaNs are equal; -0 equals 0.
//   - Bools and integers are equal as 64-bit numbers, whatever their width; the signed
//     ones are sign-extended. Float32 equals float64 of that value, and no integer.
//   - Texts and bytes are equal by their bytes: utf8, large_utf8, views, and dictionaries
//     of them.
//   - Dates, times, timestamps and durations are equal as the integers that they are held
//     as, so tables that are to fit need one unit. Decimals need one scale.
//
// Several keys are hashed in their order: the parts of "a", "b" are not those of "b", "a".
// No key, an unknown one, and n below 1 or above kernels.MaxParts are an ErrMismatch; a
// key of a nested type is an ErrUnsupported.
func (t *Table) Partition(ctx context.Context, n int, keys ...string) ([]*Table, error) {
	at, err := t.keyColumns(keys)
	if err != nil {
		return nil, wrapError("partition", err)
	}
	return t.partitioned(ctx, n, func(ctx context.Context, s device.Stream, b *Batch, _ int64) (*kernels.Partitions, int, error) {
		columns := make([]*memory.Column, len(at))
		for i, k := range at {
			columns[i] = b.Columns()[k]
		}
		where, err := t.backend.Partition(ctx, s, columns, kernels.PartitionOptions{Scheme: kernels.ByHash, Parts: n})
		return where, 0, lacking(err, "hash", keys)
	})
}

// PartitionRoundRobin deals the rows to n tables: row i goes to part i modulo n. Parts
// differ by one row at most; see Partition for what they have in common.
func (t *Table) PartitionRoundRobin(ctx context.Context, n int) ([]*Table, error) {
	return t.partitioned(ctx, n, func(ctx context.Context, s device.Stream, b *Batch, before int64) (*kernels.Partitions, int, error) {
		where, err := t.backend.Partition(ctx, s, nil, kernels.PartitionOptions{Scheme: kernels.ByRoundRobin, Parts: n, Rows: b.Len()})
		return where, int(before % int64(n)), err // the batch's first row goes to part before modulo n
	})
}

// PartitionBySize cuts the table into tables of so many rows, in order and without a
// copy. The sizes must add up to the table's rows.
func (t *Table) PartitionBySize(sizes ...int64) ([]*Table, error) {
	sum := int64(0)
	for i, n := range sizes {
		if n < 0 || n > t.rows-sum {
			return nil, fmt.Errorf("partition: %w: part %d has %d rows, after %d of the table's %d", errMismatch, i, n, sum, t.rows)
		}
		sum += n
	}
	if sum != t.rows {
		return nil, fmt.Errorf("partition: %w: %d parts of %d rows in all, the table has %d", errMismatch, len(sizes), sum, t.rows)
	}
	parts := make([]*Table, 0, len(sizes))
	at := int64(0)
	for _, n := range sizes {
		part, err := t.window(at, n)
		if err != nil {
			releaseTables(parts)
			return nil, err
		}
		parts, at = append(parts, part), at+n
	}
	return parts, nil
}

// window is n rows from a place that the table has, without a copy.
func (t *Table) window(offset, n int64) (*Table, error) {
	var chunks []*Batch
	for _, c := range t.chunks {
		from := min(offset, c.Len())
		count := min(n, c.Len()-from)
		if count > 0 {
			b, err := c.Slice(from, count)
			if err != nil {
				for _, c := range chunks {
					c.Release()
				}
				return nil, err
			}
			chunks = append(chunks, b)
		}
		offset, n = offset-from, n-count
	}
	return NewTable(t.backend, t.schema, chunks)
}

// keyColumns are the places of columns that can be keys.
func (t *Table) keyColumns(keys []string) ([]int, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no keys given", errMismatch)
	}
	at := make([]int, len(keys))
	for i, name := range keys {
		found := t.schema.FieldIndices(name)
		if len(found) == 0 {
			return nil, expr.UnknownColumn(name, fieldNames(t.schema))
		}
		if typ := t.schema.Field(found[0]).Type; !kernels.KeyTypes.Has(typ.ID()) {
			return nil, fmt.Errorf("%w: column %q of type %s is no key", errUnsupported, name, expr.TypeName(typ))
		}
		at[i] = found[0]
	}
	return at, nil
}

// partitionFunc spreads the rows of a batch, before which the table has some others:
// those of partition i go to part i + first, counted round.
type partitionFunc func(ctx context.Context, s device.Stream, b *Batch, before int64) (where *kernels.Partitions, first int, err error)

// partitioned is the table's rows in n tables.
func (t *Table) partitioned(ctx context.Context, n int, by partitionFunc) (_ []*Table, err error) {
	if n < 1 || n > kernels.MaxParts {
		return nil, fmt.Errorf("partition: %w: %d parts: 1 to %d", errMismatch, n, kernels.MaxParts)
	}
	s, err := t.backend.NewStream()
	if err != nil {
		return nil, err
	}
	p := &partitioner{r: &runner{backend: t.backend, stream: s}, by: by, parts: make([][]*Batch, n)}
	err = p.all(ctx, t)
	if err == nil {
		err = s.Wait(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		p.release()
		return nil, wrapError("partition", err)
	}
	tables := make([]*Table, 0, n)
	for i, chunks := range p.parts {
		p.parts[i] = nil
		made, err := NewTable(t.backend, t.schema, chunks)
		if err != nil {
			p.release()
			releaseTables(tables)
			return nil, wrapError("partition", err)
		}
		tables = append(tables, made)
	}
	return tables, nil
}

func releaseTables(all []*Table) {
	for _, t := range all {
		t.Release()
	}
}

// partitioner spreads batches over parts.
type partitioner struct {
	r      *runner
	by     partitionFunc
	parts  [][]*Batch
	before int64
}

func (p *partitioner) release() {
	for _, chunks := range p.parts {
		for _, c := range chunks {
			c.Release()
		}
	}
}

// all spreads a table's chunks. Small ones are put together first, so that a part has
// not a chunk of few rows for each of them.
func (p *partitioner) all(ctx context.Context, t *Table) error {
	for from := 0; from < len(t.chunks); {
		to, rows := from+1, t.chunks[from].Len()
		for to < len(t.chunks) && rows+t.chunks[to].Len() <= pieceRows {
			rows += t.chunks[to].Len()
			to++
		}
		if err := p.piece(ctx, t, t.chunks[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// piece spreads chunks as one. Chunks that cannot be one, for their texts have more bytes
// than 32-bit offsets count, are spread one by one.
func (p *partitioner) piece(ctx context.Context, t *Table, chunks []*Batch) error {
	if len(chunks) == 1 {
		return p.batch(ctx, chunks[0])
	}
	held := make([]*Batch, len(chunks))
	for i, c := range chunks {
		held[i] = c.Retain()
	}
	whole, err := p.r.concat(ctx, t.schema, held)
	if errors.Is(err, device.ErrValue) {
		for _, c := range chunks {
			if err := p.batch(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer whole.Release()
	return p.batch(ctx, whole)
}

// batch gives every part its rows of a batch, all of them windows of one copy.
func (p *partitioner) batch(ctx context.Context, b *Batch) error {
	where, first, err := p.by(ctx, p.r.stream, b, p.before)
	if err != nil {
		return err
	}
	defer where.Release()
	p.before += b.Len()
	sorted, err := p.r.takeBatch(ctx, b, where.Rows)
	if err != nil {
		return err
	}
	defer sorted.Release()
	for i := range p.parts {
		n := where.Offsets[i+1] - where.Offsets[i]
		if n == 0 {
			continue
		}
		part, err := sorted.Slice(where.Offsets[i], n)
		if err != nil {
			return err
		}
		at := (i + first) % len(p.parts)
		p.parts[at] = append(p.parts[at], part)
	}
	return nil
}
