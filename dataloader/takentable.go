package dataloader

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// TakeTable is FromTable for who needs the table no more: the source takes over
// the reference, and the loader lays out all its columns by rows, whatever
// Options.Spare is, and gives each chunk of the table back as soon as it has. A
// random row of k columns of e bytes is then ⌈k·e/64⌉ lines of the cache and no
// more, and in the end there is one copy of the data, as there was before; on the
// way there is one chunk beside it, where nobody else holds the table.
//
// One loader can be made of it. Who makes none calls Close.
func TakeTable(t *table.Table) *Taken {
	return &Taken{t: t, schema: t.Schema(), rows: t.NumRows(), backend: t.Backend()}
}

// Taken is the source that TakeTable makes.
type Taken struct {
	schema  *arrow.Schema
	rows    int64
	backend *kernels.Backend

	mu   sync.Mutex
	t    *table.Table // nil once a loader or Close has it
	sums map[int]taken
}

// taken is what is remembered of a column.
type taken struct{ values, nulls uint32 }

// Name says that it is a table.
func (s *Taken) Name() string { return "table" }

// Schema is the table's.
func (s *Taken) Schema() *arrow.Schema { return s.schema }

// NumRows is the table's.
func (s *Taken) NumRows() int64 { return s.rows }

// Close gives the table back, if no loader has it.
func (s *Taken) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Release()
	s.t = nil
	return nil
}

// Fingerprint is that of FromTable. What a loader has laid out was summed then.
func (s *Taken) Fingerprint(ctx context.Context, columns []int) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.sum(ctx, columns); err != nil {
		return 0, err
	}
	return sumOf(s.rows, columns, func(c int) (uint32, uint32, error) { return s.sums[c].values, s.sums[c].nulls, nil })
}

// sum remembers the sums of columns. The lock is held.
func (s *Taken) sum(ctx context.Context, columns []int) error {
	for _, c := range columns {
		if _, ok := s.sums[c]; ok {
			continue
		}
		if s.t == nil {
			return device.Errorf(device.ErrClosed, "", "dataloader", "the table was taken")
		}
		values, nulls, err := (&tableSource{s.t}).column(ctx, c)
		if err != nil {
			return err
		}
		if s.sums == nil {
			s.sums = map[int]taken{}
		}
		s.sums[c] = taken{values, nulls}
	}
	return nil
}

// Open lays out the table.
func (s *Taken) Open(ctx context.Context, m memory.Allocator, parts []Part, _ int64) (Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.t == nil {
		return nil, device.Errorf(device.ErrClosed, "", "dataloader", "the table was taken: TakeTable makes one loader")
	}
	if err := onHostOnly(s.t); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.Encodings != nil {
			return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "TakeTable lays out numbers: give columns with an Encoding by FromTable")
		}
		if err := s.sum(ctx, p.Columns); err != nil {
			return nil, err
		}
	}
	r := &rowReader{rows: s.rows}
	for _, p := range parts {
		if err := r.add(m, p, s.t); err != nil {
			r.Close()
			return nil, err
		}
	}
	var chunks []*table.Batch
	for _, b := range s.t.Chunks() {
		chunks = append(chunks, b.Retain())
	}
	whole := s.t // which stays whole where a value does not fit, and goes before the chunks do
	s.t = nil
	for _, p := range parts {
		if _, err := openPartOf(ctx, whole, p); err != nil {
			releaseAll(chunks)
			s.t = whole
			r.Close()
			return nil, err
		}
	}
	whole.Release()
	first := int64(0)
	for i, b := range chunks {
		n := b.Len()
		chunks[i] = nil
		if err := r.fill(ctx, s.backend, s.schema, b, parts, first); err != nil {
			releaseAll(chunks[i+1:])
			r.Close()
			return nil, err
		}
		first += n
	}
	return r, nil
}

func releaseAll(chunks []*table.Batch) {
	for _, b := range chunks {
		b.Release()
	}
}

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

// add takes memory for a part.
func (r *rowReader) add(m memory.Allocator, p Part, t *table.Table) error {
	one := rowPart{Part: p}
	k := int64(len(p.Columns))
	buffer, err := memory.New(m, r.rows*k*p.width())
	if err != nil {
		return err
	}
	one.data = &tile{buffer, k, k * p.width()}
	nulls := false
	for _, b := range t.Chunks() {
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
			fillMask(v, &p, first, from.rows)
		}
	}
	return nil
}

// fillMask writes the masks of a chunk's rows.
func fillMask(v *tile, p *openPart, first, rows int64) {
	all := v.buffer.Bytes()[first*v.columns : (first+rows)*v.columns]
	for i := range all {
		all[i] = 1
	}
	var block [blockRows]int64
	ignored := make([]byte, int64(len(all))*p.width()+8) // what mark clears beside, where it was cleared before
	for at := int64(0); at < rows; at += blockRows {
		n := min(blockRows, rows-at)
		for i := range block[:n] {
			block[i] = at + int64(i)
		}
		for c, g := range p.columns {
			g.mark(ignored, all, at*v.columns+int64(c), v.columns, block[:n], nil)
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
		if !p.Mask {
			continue
		}
		if p.valid == nil {
			for k := range to[i].Valid {
				to[i].Valid[k] = 1
			}
			continue
		}
		mask := to[i]
		mask.Data = mask.Valid
		p.valid.copyTo(&mask, 0, rows)
	}
	return nil
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
