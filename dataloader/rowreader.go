package dataloader

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// rowReader copies rows that lie by rows.
type rowReader struct {
	rows  int64
	parts []rowPart
}

// rowPart is all columns of a part.
type rowPart struct {
	Part
	data  *tile
	valid *tile // nil where no value is null
}

func chunksOf(t *table.Table) []*table.Batch {
	if t == nil {
		return nil
	}
	return t.Chunks()
}

// add takes memory for a part of a table, or, with nil, of one without nulls.
func (r *rowReader) add(m memory.Allocator, p Part, t *table.Table) error {
	one := rowPart{Part: p}
	k := int64(len(p.Columns))
	buffer, err := memory.New(m, r.rows*k*p.width())
	if err != nil {
		return err
	}
	one.data = &tile{buffer, k, k * p.width()}
	nulls := false
	for _, b := range chunksOf(t) {
		for _, c := range p.Columns {
			nulls = nulls || b.Column(c).MayHaveNulls()
		}
	}
	if p.Mask && nulls {
		mask, err := memory.New(m, r.rows*k)
		if err != nil {
			buffer.Release()
			return err
		}
		one.valid = &tile{mask, k, k}
	}
	r.parts = append(r.parts, one)
	return nil
}

// fill lays out a chunk in rows from first on, and gives it back.
func (r *rowReader) fill(ctx context.Context, b *kernels.Backend, s *arrow.Schema, chunk *table.Batch, parts []Part, first int64) error {
	t, err := table.NewTable(b, s, []*table.Batch{chunk})
	if err != nil {
		return err
	}
	defer t.Release()
	from := &tableReader{table: t, rows: t.NumRows(), starts: []int64{0, t.NumRows()}, scratch: make(chan *scratch, 64)}
	for i := range parts {
		p := openPart{Part: parts[i]}
		for k, c := range p.Columns {
			g, err := newGatherer(t, c, p.Type)
			if err != nil {
				return err
			}
			p.columns = append(p.columns, openColumn{gatherer: g, first: int64(k)})
		}
		if err := from.fill(ctx, r.parts[i].data, &p, first); err != nil {
			return err
		}
		if v := r.parts[i].valid; v != nil {
			fillMask(ctx, v, r.parts[i].data.buffer.Bytes(), &p, first, from.rows)
		}
	}
	return nil
}

// fillMask writes the masks of a chunk's rows, and once more the zeros of its
// nulls into their data, until ctx ends.
func fillMask(ctx context.Context, v *tile, data []byte, p *openPart, first, rows int64) {
	all := v.buffer.Bytes()[first*v.columns : (first+rows)*v.columns]
	for i := range all {
		all[i] = 1
	}
	var block [blockRows]int64
	for at := int64(0); at < rows && ctx.Err() == nil; at += blockRows {
		if at&(letInRows-1) == 0 {
			letIn()
		}
		n := min(blockRows, rows-at)
		for i := range block[:n] {
			block[i] = at + int64(i)
		}
		for c, g := range p.columns {
			g.mark(data, v.buffer.Bytes(), (first+at)*v.columns+int64(c), v.columns, block[:n], nil)
		}
	}
}

// Read copies rows.
func (r *rowReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	if err := device.Canceled(ctx, "", "dataloader"); err != nil {
		return err
	}
	if len(to) != len(r.parts) {
		return device.Errorf(device.ErrMismatch, "", "dataloader", "%d tensors for %d parts", len(to), len(r.parts))
	}
	for _, row := range rows {
		if uint64(row) >= uint64(r.rows) {
			return device.Errorf(device.ErrValue, "", "dataloader", "row %d of %d", row, r.rows)
		}
	}
	for i := range to {
		p := &r.parts[i]
		if !p.is(&to[i], int64(len(rows))) {
			return device.Errorf(device.ErrMismatch, "", "dataloader", "tensor %d is not that of %d rows of its part", i, len(rows))
		}
		p.data.copyTo(&to[i], 0, rows)
		switch {
		case !p.Mask:
		case p.valid == nil:
			p.setValid(&to[i], 0, int64(len(rows)))
		default:
			mask := to[i]
			mask.Data = mask.Valid
			p.valid.copyTo(&mask, 0, rows)
		}
	}
	return nil
}

// put copies rows to their places.
func (r *rowReader) put(ctx context.Context, _ *pieceScratch, rows []int64, places []int32, to []Tensor) error {
	if err := device.Canceled(ctx, "", "dataloader"); err != nil {
		return err
	}
	for i := range to {
		p := &r.parts[i]
		copies := func(t *tile, to *Tensor) {
			if inPlace(places) {
				t.copyTo(to, int64(places[0]), rows)
			} else {
				t.scatterTo(to, places, rows)
			}
		}
		copies(p.data, &to[i])
		switch {
		case !p.Mask:
		case p.valid == nil && inPlace(places):
			p.setValid(&to[i], int64(places[0]), int64(len(rows)))
		case p.valid == nil:
			for _, at := range places {
				p.setValid(&to[i], int64(at), 1)
			}
		default:
			mask := to[i]
			mask.Data = mask.Valid
			copies(p.valid, &mask)
		}
	}
	return nil
}

// rowsOf lays out a table, which may have no encodings.
func rowsOf(ctx context.Context, m memory.Allocator, t *table.Table, parts []Part) (_ *rowReader, err error) {
	r := &rowReader{rows: t.NumRows()}
	defer func() {
		if err != nil {
			_ = r.Close() // which has nothing to say
		}
	}()
	for _, p := range parts {
		if err := r.add(m, p, t); err != nil {
			return nil, err
		}
	}
	first := int64(0)
	for _, b := range t.Chunks() {
		if err := r.fill(ctx, t.Backend(), t.Schema(), b.Retain(), parts, first); err != nil {
			return nil, err
		}
		first += b.Len()
	}
	return r, nil
}

// Bytes is all that is laid out.
func (r *rowReader) Bytes() (n int64) {
	for _, p := range r.parts {
		n += p.data.buffer.Len()
		if p.valid != nil {
			n += p.valid.buffer.Len()
		}
	}
	return n
}

// Close gives the rows back.
func (r *rowReader) Close() error {
	for _, p := range r.parts {
		p.data.buffer.Release()
		if p.valid != nil {
			p.valid.buffer.Release()
		}
	}
	r.parts = nil
	return nil
}
