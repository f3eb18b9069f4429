package distributed

import (
	"context"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// op is an operation under way on all ranks. Every rank goes through the same steps. What
// goes wrong on this rank alone is kept, and its own work is left out from there on, while it goes on
// to meet the others: at the next meeting all ranks get the error, and all of them end. So an
// operation is written straight on, without a return in the middle:
//
//	o := start(ctx, comm, "Distinct", "on k")
//	o.meet()
//	few := o.table(func() (*table.Table, error) { return part.Query().Distinct("k").Collect(ctx) })
//	defer few.Release()
//	…
//	return o.finish(result, by)
type op struct {
	ctx     context.Context
	comm    *collective.Comm
	call    *agree.Call
	backend *kernels.Backend // where this rank works
	dest    []int32          // of the latest route, to be used again
	pos     []uint32         // and the places of its rows
	err     error            // of this rank, and not known to the others yet
	ended   error            // on all ranks: the operation is over
}

// start is an operation on a Comm. args is what all ranks must give alike, in words.
func start(ctx context.Context, comm *collective.Comm, name, args string) *op {
	call := agree.New(comm, "distributed "+name, args)
	call.Kinds = []error{storage.ErrFormat, fs.ErrNotExist}
	return &op{ctx: ctx, comm: comm, call: call}
}

// start is an operation on the table's Comm.
func (d *Table) start(ctx context.Context, name, args string) *op {
	o := start(ctx, d.comm, name, args)
	o.backend = d.part.Backend()
	return o
}

// going reports whether this rank has work to do.
func (o *op) going() bool { return o.err == nil && o.ended == nil }

// fail keeps an error of this rank, the first one.
func (o *op) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// do is work of this rank alone.
func (o *op) do(f func() error) {
	if !o.going() {
		return
	}
	if err := device.Canceled(o.ctx, "", o.call.Op); err != nil {
		o.fail(err)
		return
	}
	if err := f(); err != nil {
		o.fail(err)
	}
}

// table is work of this rank that makes a table; nil where there was an error.
func (o *op) table(f func() (*table.Table, error)) (t *table.Table) {
	o.do(func() (err error) {
		t, err = f()
		return err
	})
	if o.err != nil {
		t.Release()
		t = nil
	}
	return t
}

// meet tells all ranks of an error that one has: after it all go on or none does.
func (o *op) meet() error {
	o.words(nil)
	return o.ended
}

// words is a meeting at which every rank says up to agree.Words numbers. It gives those
// of all ranks, a row a rank, or nil when the operation has ended.
func (o *op) words(own []int64) [][]int64 {
	if o.ended != nil {
		return nil
	}
	all, _, err := o.call.Meet(o.ctx, o.err, own, 0, nil)
	o.end(err)
	return all
}

// end ends the operation on all ranks, where err is an error that all have.
func (o *op) end(err error) {
	if err != nil && o.ended == nil {
		o.ended = err
	}
}

// sums adds up vectors of n numbers of all ranks; own may be nil on one with an error. It is nil
// when the operation has ended.
func (o *op) sums(n int, own []int64) []int64 {
	if o.meet() != nil {
		return nil
	}
	all := make([]int64, n)
	copy(all, own)
	if err := o.comm.AllReduce(o.ctx, collective.Of(all), collective.Of(all), collective.Sum); err != nil {
		o.end(err)
		return nil
	}
	return all
}

// schema is a meeting at which the ranks agree on the columns that they have, of which this
// one has so many rows. It gives the schema of all, what all say besides, a row a rank with
// the rows first, and whether some rank has to change its types; nil when the operation has ended.
func (o *op) schema(own *arrow.Schema, rows int64, more ...int64) (common *arrow.Schema, all [][]int64, changed bool) {
	if o.ended != nil {
		return nil, nil, false
	}
	said := []int64{0, 0, rows}
	if o.err == nil {
		said[0], said[1] = schemaHash(own)
	}
	said = append(said, more...)
	all, details, err := o.call.Meet(o.ctx, o.err, said, 2, func() []byte {
		if o.err != nil {
			return nil
		}
		text, err := encodeSchema(own)
		if err != nil {
			o.fail(err)
		}
		return text
	})
	common = own
	if err == nil && details != nil {
		common, err = o.unite(details, all)
	}
	if err != nil {
		o.end(err)
		return nil, nil, false
	}
	for r := range all {
		all[r] = all[r][2:]
	}
	return common, all, details != nil
}

// conform is a table of this rank with the columns that all ranks have agreed on, as a new
// reference.
func (o *op) conform(t *table.Table, schema *arrow.Schema) *table.Table {
	return o.table(func() (*table.Table, error) {
		if t.Schema() == schema {
			return t.Retain(), nil
		}
		if t.NumRows() == 0 {
			return table.NewTable(t.Backend(), schema, nil)
		}
		return t.WithTypes(o.ctx, schema)
	})
}

// finish ends an operation with a Table of every rank's part, to which it adds a reference,
// or with the error that all ranks get. by is what is known of the rows then.
func (o *op) finish(part *table.Table, by Partitioning) (*Table, error) {
	d, _, err := o.finishSaying(part, by)
	return d, err
}

// finishSaying is finish where every rank says something more. It gives what all said, a row a rank, behind their rows and bytes.
func (o *op) finishSaying(part *table.Table, by Partitioning, more ...int64) (*Table, [][]int64, error) {
	var own *arrow.Schema
	var rows, bytes int64
	if o.going() {
		own, rows, bytes = part.Schema(), part.NumRows(), sizeOf(part)
	}
	schema, all, changed := o.schema(own, rows, append([]int64{bytes}, more...)...)
	made := o.conform(part, schema)
	if changed {
		o.meet()
	}
	if o.ended != nil {
		made.Release()
		return nil, nil, o.ended
	}
	d := &Table{part: made, comm: o.comm, by: by.keeps(schema)}
	d.refs.Store(1)
	for _, row := range all {
		d.counts, d.bytes = append(d.counts, row[0]), append(d.bytes, row[1])
	}
	return d, all, nil
}
