package table

import (
	"context"
	"sync"

	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const (
	// partialSample is how many rows of a morsel tell whether its groups are few.
	partialSample = 1 << 11
	// heldSample is how many rows of many batches tell how often their keys come.
	heldSample = 1 << 13
	// sampleLeast is how many rows a sample has at least, where limits are low.
	sampleLeast = 1 << 6
)

// sampleFew guesses whether a morsel has few groups: some rows spread over it have at most 7/8 as
// many, or rows that lie side by side at most half as many, as in a table that is ordered by the key.
func (r *runner) sampleFew(ctx context.Context, rows int64, keys []*memory.Column) (bool, error) {
	if len(keys) == 0 {
		return true, nil
	}
	room := samplePool.Get().(*sampleRows)
	defer samplePool.Put(room)
	n := min(max(r.limit(partialSample), sampleLeast), rows)
	at := room.spread(n, 0, rows)
	found, err := r.groupsAt(ctx, keys, at, rows)
	if err != nil || 8*found <= 7*n {
		return err == nil, err
	}
	at = room.spread(n, (rows-n)/2, n)
	found, err = r.groupsAt(ctx, keys, at, rows)
	return err == nil && 2*found <= n, err
}

// sampleRows has room for the numbers of the rows of a sample.
type sampleRows [heldSample]int64

var samplePool = sync.Pool{New: func() any { return new(sampleRows) }}

// spread are n rows that lie evenly over those from first on.
func (s *sampleRows) spread(n, first, rows int64) []int64 {
	at := s[:n]
	for i := range at {
		at[i] = first + int64(i)*rows/n
	}
	return at
}

// groupsAt is how many groups the given rows have.
func (r *runner) groupsAt(ctx context.Context, keys []*memory.Column, at []int64, rows int64) (int64, error) {
	sample, err := r.takeAt(ctx, keys, at, rows)
	if err != nil {
		return 0, err
	}
	defer releaseColumns(sample)
	return r.groupsOf(ctx, sample)
}

func (r *runner) takeAt(ctx context.Context, columns []*memory.Column, at []int64, rows int64) ([]*memory.Column, error) {
	numbers, err := r.rowNumbers(ctx, at, rows)
	if err != nil {
		return nil, err
	}
	defer numbers.Release()
	return r.take(ctx, columns, numbers)
}

func (r *runner) groupsOf(ctx context.Context, keys []*memory.Column) (int64, error) {
	first, err := r.backend.Unique(ctx, r.stream, keys, kernels.GroupOptions{AnyOrder: true})
	if err != nil {
		return 0, err
	}
	defer first.Release()
	return first.Len(), nil
}

// repeats guesses whether batches have at most one group for each so many rows, by how many of
// some rows spread over them have the key of another.
func (r *runner) repeats(ctx context.Context, batches []*Batch, keys func([]*memory.Column) []*memory.Column, share int64) (bool, error) {
	rows := exec.RowsOf(batches)
	n := min(max(r.limit(heldSample), sampleLeast), rows)
	room := samplePool.Get().(*sampleRows)
	defer samplePool.Put(room)
	at := room.spread(n, 0, rows)
	var parts [][]*memory.Column // of each key
	defer func() {
		for _, p := range parts {
			releaseColumns(p)
		}
	}()
	first, used := int64(0), 0
	for _, b := range batches {
		from := used
		for used < len(at) && at[used] < first+b.Len() {
			at[used] -= first
			used++
		}
		first += b.Len()
		if used == from {
			continue
		}
		taken, err := r.takeAt(ctx, keys(b.Columns()), at[from:used], b.Len())
		if err != nil {
			return false, err
		}
		if len(taken) == 0 {
			return true, nil
		}
		if parts == nil {
			parts = make([][]*memory.Column, len(taken))
		}
		for i, c := range taken {
			parts[i] = append(parts[i], c)
		}
	}
	var sample []*memory.Column
	defer func() { releaseColumns(sample) }()
	for _, p := range parts {
		c, err := r.backend.Concat(ctx, r.stream, p)
		if err != nil {
			return false, err
		}
		sample = append(sample, c)
	}
	found, err := r.groupsOf(ctx, sample)
	return err == nil && n-found >= repeated(n, rows, share), err
}

// repeated is how many of n rows, drawn of all, have the key of another where each key comes share
// times: of each two rows with one key both are drawn with a chance of n/rows by itself.
func repeated(n, rows, share int64) int64 {
	drawn := float64(n) / float64(rows)
	return max(1, int64(min(drawn*float64(n)*float64(share-1)/2, float64(n-n/share))))
}
