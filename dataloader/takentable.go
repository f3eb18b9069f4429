package dataloader

import (
	"context"
	"reflect"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// TakeTable is FromTable for who needs the table no more: the source takes over
// the reference, and the loader lays out all its columns by rows, whatever
// Options.Spare is, and gives the table back. A random row of k columns of e bytes
// is then ⌈k·e/64⌉ lines of the cache and no more, and in the end there is one
// copy of the data, as there was before; on the way there is one chunk beside it,
// where nobody else holds the table. A table of one chunk is laid out beside the
// making of the first batches, from the first one on where it is large, one of several before New returns, as each is to
// go as soon as it can.
//
// One loader can be made of it, and as long as that is open others that read the
// same columns in the same way: to go on at a State. Who makes none calls Close.
func TakeTable(t *table.Table) *Taken {
	return &Taken{t: t, schema: t.Schema(), rows: t.NumRows(), backend: t.Backend()}
}

// Taken is the source that TakeTable makes.
type Taken struct {
	schema  *arrow.Schema
	rows    int64
	backend *kernels.Backend

	mu     sync.Mutex
	t      *table.Table // nil once a loader or Close has it
	reader *takenReader // of the loaders that are open, or nil
	sums   map[int]taken
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
	if err := s.bring(ctx); err != nil {
		return 0, err
	}
	t := s.t
	if s.reader != nil {
		t = s.reader.whole
	}
	if err := s.sum(ctx, t, columns); err != nil {
		return 0, err
	}
	return sumOf(s.rows, columns, func(c int) (uint32, uint32, error) { return s.sums[c].values, s.sums[c].nulls, nil })
}

// bring brings a table that nobody has yet to the host's memory. The lock is held.
func (s *Taken) bring(ctx context.Context) error {
	if s.t == nil || hostAddresses(s.t) {
		return nil
	}
	there, err := addressable(ctx, s.t)
	if err != nil {
		return err
	}
	s.t.Release()
	s.t = there
	return nil
}

// sum remembers the sums of columns of the table. The lock is held.
func (s *Taken) sum(ctx context.Context, t *table.Table, columns []int) error {
	for _, c := range columns {
		if _, ok := s.sums[c]; ok {
			continue
		}
		if t == nil {
			return device.Errorf(device.ErrClosed, "", "dataloader", "the table was taken")
		}
		values, nulls, err := (&tableSource{t: t}).column(ctx, c)
		if err != nil {
			return err
		}
		s.remember(c, taken{values, nulls})
	}
	return nil
}

// remember keeps the sum of a column. The lock is held.
func (s *Taken) remember(column int, sum taken) {
	if s.sums == nil {
		s.sums = map[int]taken{}
	}
	s.sums[column] = sum
}

// Open lays out the table, or begins to.
func (s *Taken) Open(ctx context.Context, m memory.Allocator, parts []Part, _ int64) (Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil && reflect.DeepEqual(s.reader.parts, parts) {
		s.reader.lent++
		return &takenLoan{s.reader}, nil
	}
	if s.t == nil {
		return nil, device.Errorf(device.ErrClosed, "", "dataloader", "the table was taken: all loaders of a TakeTable are open together and read the same")
	}
	if err := s.bring(ctx); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.Encodings != nil {
			return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "TakeTable lays out numbers: give columns with an Encoding by FromTable")
		}
	}
	rows := &rowReader{rows: s.rows}
	for _, p := range parts {
		if err := rows.add(m, p, s.t); err != nil {
			rows.Close()
			return nil, err
		}
	}
	r := &takenReader{of: s, parts: parts, lent: 1, rows: rows}
	if len(s.t.Chunks()) == 1 {
		from, err := newTableReader(ctx, s.t, m, parts, 0, nil)
		if err != nil {
			rows.Close()
			return nil, err
		}
		r.from, r.whole, s.t, s.reader = from, s.t, nil, r
		if rows.Bytes() <= layAtOnce {
			r.first.Do(r.lay)
		}
		return &takenLoan{r}, nil
	}
	if err := s.layChunks(ctx, rows, parts); err != nil {
		rows.Close()
		return nil, err
	}
	s.reader = r
	return &takenLoan{r}, nil
}

// layChunks lays out a table chunk by chunk and gives each back.
func (s *Taken) layChunks(ctx context.Context, r *rowReader, parts []Part) error {
	for _, p := range parts {
		if err := s.sum(ctx, s.t, p.Columns); err != nil {
			return err
		}
		if _, err := openPartOf(ctx, s.t, p); err != nil {
			return err
		}
	}
	var chunks []*table.Batch
	for _, b := range s.t.Chunks() {
		chunks = append(chunks, b.Retain())
	}
	s.t.Release() // before the chunks go, which it holds
	s.t = nil
	first := int64(0)
	for i, b := range chunks {
		n := b.Len()
		chunks[i] = nil
		if err := r.fill(ctx, s.backend, s.schema, b, parts, first); err != nil {
			releaseAll(chunks[i+1:])
			return err
		}
		first += n
	}
	return nil
}

func releaseAll(chunks []*table.Batch) {
	for _, b := range chunks {
		b.Release()
	}
}
