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

// split parts rows of a table by their hashes: those for a rank keep their order, and those for
// all ranks come behind them. Rows with null keys, where they were looked for, stay.
func (o *op) split(h *hashed, w way, rows round) (all pieces, err error) {
	s, err := o.backend.NewStream()
	if err != nil {
		return nil, err
	}
	all = make(pieces, o.comm.Size())
	to := make(pieces, len(all)+1)
	defer func() {
		to.release()
		if err = errors.Join(err, s.Close()); err != nil {
			all.release()
			all = nil
		}
	}()
	for _, p := range rows.pieces {
		if err := o.splitPiece(h, s, p, w, to); err != nil {
			return all, err
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
	return all, s.Wait(o.ctx)
}

// splitPiece adds rows of a chunk to the pieces: by rank, those for all as one more.
func (o *op) splitPiece(h *hashed, s device.Stream, p piece, w way, to pieces) error {
	self, all := int32(o.comm.Rank()), int32(o.comm.Size())
	n := uint64(len(w.buckets))
	hashes, marks := memory.Values[uint64](h.hashes[p.k])[p.at:p.at+p.n], h.nulls[p.k]
	if marks != nil {
		marks = marks[p.at : p.at+p.n]
	}
	b, err := p.b.Slice(p.at, p.n)
	if err != nil {
		return err
	}
	defer b.Release()
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
	if err := r.each(func(_, from, end int) { fill(r.dest[from:end], from) }); err != nil {
		return err
	}
	counts, err := r.count()
	if err != nil {
		return err
	}
	offsets := make([]int64, len(to)+1)
	for d, n := range counts {
		offsets[d+1] = offsets[d] + n
	}
	for d := range to {
		if offsets[d+1]-offsets[d] == b.Len() {
			to[d] = append(to[d], b.Retain())
			return nil
		}
	}
	parts, err := r.parts(s, b, offsets)
	if err != nil {
		return err
	}
	for d, taken := range parts {
		if n := offsets[d+1] - offsets[d]; n > 0 {
			part, err := table.NewBatch(b.Schema(), n, taken)
			if err != nil {
				for _, rest := range parts[d+1:] {
					releaseColumns(rest)
				}
				return err
			}
			to[d] = append(to[d], part)
			continue
		}
		releaseColumns(taken)
	}
	return nil
}

// parts are the columns of a batch for each destination. Those that are not direct are taken by the numbers of their rows.
func (r *route) parts(s device.Stream, b *table.Batch, offsets []int64) (all [][]*memory.Column, err error) {
	all = make([][]*memory.Column, len(offsets)-1)
	defer func() {
		if err != nil {
			for _, list := range all {
				releaseColumns(list)
			}
		}
	}()
	var rows *memory.Column
	defer func() { rows.Release() }()
	for i := range b.NumColumns() {
		c := b.Column(i)
		var list []*memory.Column
		if direct(c) {
			list, err = r.written(c, offsets)
		} else {
			if rows == nil {
				if rows, err = r.order(s, offsets); err != nil {
					return all, err
				}
			}
			list, err = r.o.taken(s, c, rows, offsets)
		}
		if err != nil {
			return all, fmt.Errorf("column %q: %w", b.Schema().Field(i).Name, err)
		}
		for d := range all {
			all[d] = append(all[d], list[d])
		}
	}
	return all, nil
}

// take is the rows of a batch.
func (o *op) take(s device.Stream, b *table.Batch, rows *memory.Column) (*table.Batch, error) {
	var all []*memory.Column
	for i := range b.NumColumns() {
		c, err := o.takeColumn(s, b.Column(i), rows)
		if err != nil {
			releaseColumns(all)
			return nil, fmt.Errorf("column %q: %w", b.Schema().Field(i).Name, err)
		}
		all = append(all, c)
	}
	return table.NewBatch(b.Schema(), rows.Len(), all)
}

// taken makes a column for each destination, whose rows are rows[offsets[d]:offsets[d+1]].
func (o *op) taken(s device.Stream, c, rows *memory.Column, offsets []int64) (all []*memory.Column, err error) {
	for d := range len(offsets) - 1 {
		some, err := rows.Slice(offsets[d], offsets[d+1]-offsets[d])
		if err != nil {
			releaseColumns(all)
			return nil, err
		}
		part, err := o.takeColumn(s, c, some)
		some.Release()
		if err != nil {
			releaseColumns(all)
			return nil, err
		}
		all = append(all, part)
	}
	return all, nil
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
