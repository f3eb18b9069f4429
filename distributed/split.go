package distributed

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// pieces are the batches that go to each rank.
type pieces [][]*table.Batch

func (p pieces) release() {
	for _, list := range p {
		for _, b := range list {
			b.Release()
		}
	}
}

// way says where rows go by the hashes of their keys.
type way struct {
	buckets []int32 // the rank of each
	// Rows of these hashes do not go to the rank of their bucket: true, all ranks get
	// them; false, they stay.
	heavy map[uint64]bool
}

// splitRows is how many rows are looked at between two looks at the context, and the least that another
// processor takes. Tests have fewer.
var splitRows = 1 << 18

// split parts a table by the hashes of its rows: those for a rank keep their order, and those for
// all ranks come behind them. Rows with null keys, where they were looked for, stay. It is nil
// where this rank has an error.
func (o *op) split(h *hashed, w way) (all pieces) {
	o.do(func() (err error) {
		s, err := o.backend.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		all = make(pieces, o.comm.Size())
		to := make(pieces, len(all)+1)
		defer func() { to.release() }()
		for k, b := range h.t.Chunks() {
			if err := o.splitChunk(h, s, b, k, w, to); err != nil {
				return err
			}
		}
		last := len(all)
		for r := range all {
			all[r] = to[r]
			for _, b := range to[last] {
				all[r] = append(all[r], b.Retain())
			}
			to[r] = nil
		}
		return s.Wait(o.ctx)
	})
	if !o.going() {
		all.release()
		return nil
	}
	return all
}

// splitChunk adds the rows of a chunk to the pieces: by rank, those for all as one more.
func (o *op) splitChunk(h *hashed, s device.Stream, b *table.Batch, k int, w way, to pieces) error {
	self, all := int32(o.comm.Rank()), int32(o.comm.Size())
	n := uint64(len(w.buckets))
	hashes, marks := memory.Values[uint64](h.hashes[k]), h.nulls[k]
	return o.scatter(s, b, to, func(dest []int32, from int) {
		for i := range dest {
			hash := hashes[from+i]
			d := w.buckets[bucketOf(hash, n)]
			switch {
			case marks != nil && marks[from+i]:
				d = self
			case len(w.heavy) > 0:
				if everywhere, is := w.heavy[hash]; is && everywhere {
					d = all
				} else if is {
					d = self
				}
			}
			dest[i] = d
		}
	})
}

// scatter takes the rows of a batch for each of the destinations. fill says where the rows from from on go, of some of them at a
// time and on several processors at once.
func (o *op) scatter(s device.Stream, b *table.Batch, to pieces, fill func(dest []int32, from int)) error {
	r := newRoute(o, b.Len(), len(to))
	if err := r.each(func(block, from, end int) {
		dest := r.dest[from:end]
		fill(dest, from)
		for _, d := range dest {
			r.next[block][d]++
		}
	}); err != nil {
		return err
	}
	offsets := r.place()
	for d := range to {
		if offsets[d+1]-offsets[d] == b.Len() {
			to[d] = append(to[d], b.Retain())
			return nil
		}
	}
	rows, err := r.order(s)
	if err != nil {
		return err
	}
	defer rows.Release()
	for d := range to {
		if from, n := offsets[d], offsets[d+1]-offsets[d]; n > 0 {
			part, err := o.take(s, b, rows, from, n)
			if err != nil {
				return err
			}
			to[d] = append(to[d], part)
		}
	}
	return nil
}

// take is a batch of the rows rows[from:from+n] of another.
func (o *op) take(s device.Stream, b *table.Batch, rows *memory.Column, from, n int64) (*table.Batch, error) {
	some, err := rows.Slice(from, n)
	if err != nil {
		return nil, err
	}
	defer some.Release()
	taken := make([]*memory.Column, 0, b.NumColumns())
	for i := range b.NumColumns() {
		c, err := o.takeColumn(s, b.Column(i), some)
		if err != nil {
			for _, c := range taken {
				c.Release()
			}
			return nil, fmt.Errorf("column %q: %w", b.Schema().Field(i).Name, err)
		}
		taken = append(taken, c)
	}
	return table.NewBatch(b.Schema(), n, taken)
}

// takeColumn is rows of a column. Half floats, which have no kernel, are taken as the integers of their width.
func (o *op) takeColumn(s device.Stream, c, rows *memory.Column) (*memory.Column, error) {
	if c.Type().ID() != arrow.FLOAT16 {
		return o.backend.Take(o.ctx, s, c, rows, kernels.TakeOptions{Trusted: true})
	}
	whole, err := c.WithType(arrow.PrimitiveTypes.Uint16)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	some, err := o.backend.Take(o.ctx, s, whole, rows, kernels.TakeOptions{Trusted: true})
	if err != nil {
		return nil, err
	}
	defer some.Release()
	return some.WithType(c.Type())
}
