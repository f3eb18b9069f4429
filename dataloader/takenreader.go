package dataloader

import (
	"context"
	"sync"

	"github.com/volley-go/volley/table"
)

// takenReader reads a table that was taken: from its columns until it is laid out
// by rows, then from there. Loaders share it.
type takenReader struct {
	of    *Taken
	parts []Part
	lent  int          // loans that are not closed; guarded by of.mu
	whole *table.Table // nil once it is laid out and summed; guarded by of.mu

	rows *rowReader
	mu   sync.RWMutex // held for reading by who reads from
	from *tableReader // nil once rows has them all

	first  sync.Once // lay
	laying sync.WaitGroup
	stop   context.CancelFunc
}

// layAtOnce is up to how many bytes are laid out without waiting for the first batch. Of
// more that takes so long that who waits for the batch sees it, which threads that lay
// out would keep from the processors and the memory.
var layAtOnce int64 = 256 << 20

// lay begins to lay the rows out. Batches are made of them as soon as they all lie
// there; the columns are gone when they are summed too.
func (r *takenReader) lay() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	from := r.from
	r.laying.Go(func() {
		for i := range from.parts {
			p, to := &from.parts[i], &r.rows.parts[i]
			if from.fill(ctx, to.data, p, 0) != nil {
				return
			}
			if to.valid != nil {
				fillMask(ctx, to.valid, to.data.buffer.Bytes(), p, 0, r.rows.rows)
			}
		}
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		r.from = nil
		r.mu.Unlock()
		_ = from.Close() // which has nothing to say
		r.sum(ctx)
	})
}

// sum sums the columns and gives them back.
func (r *takenReader) sum(ctx context.Context) {
	sums := map[int]taken{}
	for _, p := range r.parts {
		for _, c := range p.Columns {
			values, nulls, err := (&tableSource{t: r.whole}).column(ctx, c)
			if err != nil {
				return
			}
			sums[c] = taken{values, nulls}
		}
	}
	r.of.mu.Lock()
	for c, sum := range sums {
		r.of.remember(c, sum)
	}
	whole := r.whole
	r.whole = nil
	r.of.mu.Unlock()
	whole.Release()
}

// takenLoan is a takenReader for one loader.
type takenLoan struct{ *takenReader }

// Read copies rows, or gathers them as long as they are not all laid out.
func (r *takenReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	r.mu.RLock()
	if r.from != nil {
		defer r.first.Do(r.lay)
		defer r.mu.RUnlock()
		return r.from.Read(ctx, rows, to)
	}
	r.mu.RUnlock()
	return r.rows.Read(ctx, rows, to)
}

// Bytes is all that is laid out.
func (r *takenReader) Bytes() int64 { return r.rows.Bytes() }

// Close gives the rows back when no loader has them any more.
func (l *takenLoan) Close() error {
	r := l.takenReader
	r.of.mu.Lock()
	r.lent--
	last := r.lent == 0
	if last {
		r.of.reader = nil
	}
	r.of.mu.Unlock()
	if !last {
		return nil
	}
	if r.stop != nil {
		r.stop()
	}
	r.laying.Wait()
	if r.from != nil {
		_ = r.from.Close() // which has nothing to say
	}
	if r.whole != nil {
		r.whole.Release()
	}
	return r.rows.Close()
}
