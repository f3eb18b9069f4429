package loader

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/volley-go/volley/device"
)

// limit is the gather of random rows that a loader cannot be faster than: the
// rows lie in a matrix, the order is there, and each thread copies its rows into
// the same few batches.
type limit struct {
	matrix         []float32
	order          []int32
	columns, batch int
	rings          [][]float32 // a thread's two batches
}

func newLimit(rows, columns, batch int64, threads int) *limit {
	l := &limit{matrix: make([]float32, rows*columns), columns: int(columns), batch: int(batch)}
	for i := range l.matrix {
		l.matrix[i] = float32(i)
	}
	for _, r := range rand.New(rand.NewPCG(7, 7)).Perm(int(rows)) {
		l.order = append(l.order, int32(r))
	}
	for range threads {
		l.rings = append(l.rings, make([]float32, 2*batch*columns))
	}
	return l
}

// run is the seconds of an epoch.
func (l *limit) run(ctx context.Context) (float64, error) {
	var all sync.WaitGroup
	begin := time.Now()
	for t, ring := range l.rings {
		all.Go(func() {
			for b := t; b*l.batch < len(l.order) && ctx.Err() == nil; b += len(l.rings) {
				to := ring[(b/len(l.rings))%2*l.batch*l.columns:]
				for i, r := range l.order[b*l.batch : min((b+1)*l.batch, len(l.order))] {
					copy(to[i*l.columns:(i+1)*l.columns], l.matrix[int(r)*l.columns:])
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin).Seconds(), device.Canceled(ctx, "", "loader")
}
