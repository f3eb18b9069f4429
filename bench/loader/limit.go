package loader

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/rowcopy"
	"github.com/volley-go/volley/memory"
)

// limit is the gather of random rows that a loader is held against: the rows lie in a
// matrix, in pages as large as a loader's, the order is there, and each thread copies
// its rows into the same few batches, which are never handed to anybody. It is timed
// twice: by the plain loop of Go, which is what a loader's share is of, and by the loop
// that asks for rows before it copies them, beyond which memory gives no more.
type limit struct {
	room           *memory.Buffer
	matrix         []float32
	order          []int32
	rows           []int64 // the order again, as rowcopy takes it
	columns, batch int
	rings          [][]float32 // a thread's two batches
}

// limits are the times of both loops.
type limits struct{ plain, ahead []float64 }

func newLimit(rows, columns, batch int64, threads int) (*limit, error) {
	room, err := memory.New(memory.Heap, 4*rows*columns)
	if err != nil {
		return nil, err
	}
	l := &limit{room: room, matrix: unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(room.Bytes()))), rows*columns), columns: int(columns), batch: int(batch)}
	for i := range l.matrix {
		l.matrix[i] = float32(i)
	}
	for _, r := range rand.New(rand.NewPCG(7, 7)).Perm(int(rows)) {
		l.order, l.rows = append(l.order, int32(r)), append(l.rows, int64(r))
	}
	for range threads {
		l.rings = append(l.rings, make([]float32, 2*batch*columns))
	}
	return l, nil
}

// close gives the matrix back.
func (l *limit) close() { l.room.Release() }

// run times an epoch of each loop.
func (l *limit) run(ctx context.Context, to *limits) error {
	to.plain = append(to.plain, l.time(ctx, l.copyPlain))
	to.ahead = append(to.ahead, l.time(ctx, l.copyAhead))
	return device.Canceled(ctx, "", "loader")
}

// time is the seconds of an epoch on all threads; copy makes the batch of rows [at, end)
// of the order.
func (l *limit) time(ctx context.Context, copy func(to []float32, at, end int)) float64 {
	var all sync.WaitGroup
	begin := time.Now()
	for t, ring := range l.rings {
		all.Go(func() {
			for b := t; b*l.batch < len(l.order) && ctx.Err() == nil; b += len(l.rings) {
				copy(ring[(b/len(l.rings))%2*l.batch*l.columns:], b*l.batch, min((b+1)*l.batch, len(l.order)))
			}
		})
	}
	all.Wait()
	return time.Since(begin).Seconds()
}

func (l *limit) copyPlain(to []float32, at, end int) {
	for i, r := range l.order[at:end] {
		copy(to[i*l.columns:(i+1)*l.columns], l.matrix[int(r)*l.columns:])
	}
}

func (l *limit) copyAhead(to []float32, at, end int) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to))), 4*len(to))
	rowcopy.Copy(bytes, 4*l.columns, l.room.Bytes(), 4*l.columns, l.rows[at:end])
}
