package distributed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/columns"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Exchange gives rank r the table parts[r] of every rank: the rows that came from rank 0, then
// those from rank 1, and so on, on the backend of this rank's parts. All ranks of the Comm call it
// with one part for each rank, of the same columns. A part may have no rows.
//
// Buffers travel as they are; those of a device by way of its pinned memory, or by NCCL where every rank
// has a GPU of its own. A column that
// is a dictionary on all ranks has, in each chunk, the dictionary of the rank that it came from.
func Exchange(ctx context.Context, comm *collective.Comm, parts []*table.Table) (*table.Table, error) {
	if comm == nil {
		return nil, fmt.Errorf("%w: an exchange without a Comm", device.ErrMismatch)
	}
	o := start(ctx, comm, "Exchange", "")
	got := o.exchange(parts)
	defer got.Release()
	if o.ended != nil {
		return nil, o.ended
	}
	return o.alike(got)
}

// alike is the table that an operation ends with, as a new reference, once its columns are the same on all ranks: a
// dictionary may have got wider indices on one.
func (o *op) alike(t *table.Table) (*table.Table, error) {
	var own *arrow.Schema
	if o.going() {
		own = t.Schema()
	}
	var rows int64
	if o.going() {
		rows = t.NumRows()
	}
	schema, _, changed := o.schema(own, rows)
	made := o.conform(t, schema)
	if changed {
		o.meet()
	}
	if o.ended != nil {
		made.Release()
		return nil, o.ended
	}
	return made, nil
}

// exchange is the exchange of an operation: part r of every rank goes to rank r. The parts stay
// the caller's, and so does what comes; it is nil where this rank has an error, or all.
func (o *op) exchange(parts []*table.Table) *table.Table {
	var own *arrow.Schema
	var rows int64
	o.do(func() (err error) {
		own, rows, o.backend, err = o.partsSchema(parts)
		return err
	})
	schema, _, _ := o.schema(own, rows)
	if o.ended != nil {
		return nil
	}
	lists := make([][]*table.Batch, len(parts))
	for r, p := range parts {
		t := o.conform(p, schema)
		if t == nil {
			break
		}
		defer t.Release()
		lists[r] = t.Chunks()
	}
	return o.deal(schema, lists)
}

// partsSchema is the one schema of this rank's parts, and how many rows they have.
func (o *op) partsSchema(parts []*table.Table) (_ *arrow.Schema, rows int64, b *kernels.Backend, err error) {
	if len(parts) != o.comm.Size() {
		return nil, 0, nil, fmt.Errorf("%w: %d parts for %d ranks", device.ErrMismatch, len(parts), o.comm.Size())
	}
	schemas, counts := make([]*arrow.Schema, len(parts)), make([]int64, len(parts))
	for r, p := range parts {
		if p == nil {
			return nil, 0, nil, fmt.Errorf("%w: there is no part for rank %d", device.ErrMismatch, r)
		}
		if b == nil {
			b = p.Backend()
		}
		if p.Backend() != b {
			return nil, 0, nil, fmt.Errorf("%w: the part for rank %d is on %s, that for rank 0 on %s", device.ErrMismatch, r, p.Backend().Device.Name(), b.Device.Name())
		}
		rows += p.NumRows()
		schemas[r], counts[r] = p.Schema(), p.NumRows()
	}
	schema, texts := table.CommonSchema(schemas, counts)
	if texts != nil {
		return nil, 0, nil, say("the parts", texts)
	}
	return schema, rows, b, nil
}

// deal sends rank r the batches lists[r], whose columns all ranks have agreed on, and makes a
// table of what comes: by source rank, and in the order of its list. The lists stay the caller's.
func (o *op) deal(schema *arrow.Schema, lists [][]*table.Batch) *table.Table {
	parts := make([][]columns.List, len(lists))
	var types []arrow.DataType
	o.do(func() error {
		for _, f := range schema.Fields() {
			types = append(types, f.Type)
		}
		for r, list := range lists {
			parts[r] = listsOf(list)
		}
		return nil
	})
	mover := o.mover()
	if mover == nil {
		return nil
	}
	came, err := mover.Deal(o.ctx, o.call, types, parts, nil)
	err = errors.Join(err, mover.Close())
	if err != nil {
		columns.ReleaseLists(came)
		o.end(err)
		return nil
	}
	return o.table(func() (*table.Table, error) { return gathered(o.backend, schema, came) })
}

// mover is what moves the columns of an operation, over NCCL where every rank has a GPU of its own and the library. It is a meeting, and nil where
// the operation has ended.
func (o *op) mover() *columns.Comm {
	var m *columns.Comm
	gpu := int64(0)
	o.do(func() (err error) {
		if m, err = columns.New(o.comm, o.backend.Device); err == nil {
			gpu = m.GPU()
		}
		return err
	})
	all := o.words([]int64{gpu})
	if o.ended == nil {
		gpus := make([]int64, len(all))
		for r, row := range all {
			gpus[r] = row[0]
		}
		o.end(m.UseGPUs(o.ctx, o.backend, gpus))
	}
	if o.ended != nil && m != nil {
		_ = m.Close() // nothing is under way
		return nil
	}
	return m
}

// gathered is a table of lists that came, which it takes over.
func gathered(b *kernels.Backend, schema *arrow.Schema, came [][]columns.List) (*table.Table, error) {
	var chunks []*table.Batch
	var err error
	for _, lists := range came {
		for _, l := range lists {
			if err != nil {
				columns.Release(l.Columns)
				continue
			}
			var chunk *table.Batch
			if chunk, err = table.NewBatch(schema, l.Rows, l.Columns); err == nil {
				chunks = append(chunks, chunk)
			}
		}
	}
	if err != nil {
		for _, c := range chunks {
			c.Release()
		}
		return nil, err
	}
	return table.NewTable(b, schema, chunks)
}

// inOne takes over a table and gives its rows in one chunk, where all columns are of fixed width. Grouping looks at the first of several chunks alone, to see
// whether groups are fewer than rows. Of what came by the hash of keys they seldom are, and that chunk would be grouped twice.
func (o *op) inOne(t *table.Table) *table.Table {
	apart := func(f arrow.Field) bool { // dictionaries may have more values together than their indices number
		return memory.Width(f.Type) == 0 || f.Type.ID() == arrow.DICTIONARY || f.Type.ID() == arrow.FLOAT16
	}
	if t == nil || len(t.Chunks()) < 2 || slices.ContainsFunc(t.Schema().Fields(), apart) {
		return t
	}
	defer t.Release()
	return o.table(func() (_ *table.Table, err error) {
		s, err := o.backend.NewStream()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		whole := make([]*memory.Column, 0, t.NumColumns())
		for i := range t.NumColumns() {
			var parts []*memory.Column
			for _, b := range t.Chunks() {
				parts = append(parts, b.Column(i))
			}
			c, err := o.backend.Concat(o.ctx, s, parts)
			if err != nil {
				columns.Release(whole)
				return nil, fmt.Errorf("column %q: %w", t.Schema().Field(i).Name, err)
			}
			whole = append(whole, c)
		}
		chunk, err := table.NewBatch(t.Schema(), t.NumRows(), whole)
		if err != nil {
			return nil, err
		}
		return table.NewTable(o.backend, t.Schema(), []*table.Batch{chunk})
	})
}
