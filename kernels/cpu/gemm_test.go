package cpu

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// bigProducts are m, n, k of products that take each way through gemm: pieces
// of B, parts of columns, columns apart, the depth shared out, operands that are not
// packed.
var bigProducts = [][3]int64{
	{5, 4200, 270}, {310, 70, 260}, {150, 129, 260}, {40, 40, 3000}, {1, 300, 2100}, {2100, 1, 300}, {3, 1, 70_000}, {97, 33, 31}, {64, 64, 64},
	{64, 100, 1500}, {100, 60, 70}, {130, 300, 600}, {70, 250, 530}, {7, 200, 600},
}

// randomMatrix is a matrix of numbers, a few elements wider than its columns.
func randomMatrix(t testing.TB, r *rand.Rand, typ arrow.DataType, rows, cols int64) kernels.Matrix {
	t.Helper()
	m := kernels.Matrix{Type: typ, Offset: 3, Rows: rows, Cols: cols, Stride: cols + 5}
	b, err := memory.New(memory.Heap, (m.Offset+rows*m.Stride)*int64(memory.Width(typ)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	m.Data = b
	if typ.ID() == arrow.FLOAT32 {
		for i := range memory.View[float32](b) {
			memory.View[float32](b)[i] = float32(r.NormFloat64())
		}
		return m
	}
	for i := range memory.View[float64](b) {
		memory.View[float64](b)[i] = r.NormFloat64()
	}
	return m
}

// copied is a matrix of its own with the same values.
func copied(t testing.TB, m kernels.Matrix) kernels.Matrix {
	t.Helper()
	b, err := memory.New(memory.Heap, m.Data.Len())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	copy(b.Bytes(), m.Data.Bytes())
	m.Data = b
	return m
}

// Products have the reference's bits in every tier, with any number of threads.
// The race detector sees no assembly and asks for no answers: it gets the loops
// in Go on 7 threads.
func TestGEMMByTiersAndThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	_, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 7))
	ctx := context.Background()
	sets, counts := append([]*kernels.Set{reference.New()}, Tiers()...), []int{1, 2, 7}
	if raceDetector {
		sets, counts = []*kernels.Set{Generic()}, []int{7}
	}
	for i, shape := range bigProducts {
		m, n, k := shape[0], shape[1], shape[2]
		for form := range 4 {
			if raceDetector && form != i%4 { // goroutines meet alike in all
				continue
			}
			typ := []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}[(i+form/2)%2]
			transA, transB := form&1 != 0, (form+i)&2 != 0
			a, b, c := randomMatrix(t, r, typ, m, k), randomMatrix(t, r, typ, k, n), randomMatrix(t, r, typ, m, n)
			if transA {
				a = randomMatrix(t, r, typ, k, m)
			}
			if transB {
				b = randomMatrix(t, r, typ, n, k)
			}
			alpha, beta := []float64{1, 0.3}[form%2], []float64{0, 1, -0.7}[(i+form)%3]
			var want []byte
			for _, set := range sets {
				for _, threads := range counts {
					runtime.GOMAXPROCS(threads)
					out := copied(t, c)
					if err := set.GEMM.Func(ctx, s, transA, transB, alpha, a, b, beta, out); err != nil {
						t.Fatal(err)
					}
					switch got := out.Data.Bytes(); {
					case want == nil:
						want = got
					case !bytes.Equal(got, want):
						t.Errorf("%s of %d x %d x %d by %d threads in %v (%v, %v, %g, %g) differs from the reference", set.Name, m, n, k, threads, typ, transA, transB, alpha, beta)
					}
					if set.Name == "reference" {
						break
					}
				}
			}
		}
	}
}

// A product that is broken off, or for which there is no memory, ends though its
// workers wait for each other.
func TestGEMMEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7))
	b, s, count := counted(t)
	b.Set = Tiers()[len(Tiers())-1]
	r := rand.New(rand.NewPCG(testSeed, 8))
	typ := arrow.PrimitiveTypes.Float64
	m := randomMatrix(t, r, typ, 1500, 1500)
	low, high := randomMatrix(t, r, typ, 250, 20_000), randomMatrix(t, r, typ, 20_000, 250)
	t.Run("blocks", func(t *testing.T) { endsEarly(t, b, s, count, m, m, copied(t, m)) })
	t.Run("columns apart", func(t *testing.T) { endsEarly(t, b, s, count, low, high, randomMatrix(t, r, typ, 250, 250)) })
}

func endsEarly(t *testing.T, b *kernels.Backend, s device.Stream, count memory.Allocator, x, y, c kernels.Matrix) {
	for i := range 12 {
		ctx, cancel := context.WithCancel(context.Background())
		var began time.Time
		time.AfterFunc(time.Duration(i)*time.Millisecond, func() { began = time.Now(); cancel() })
		err := b.GEMM(ctx, s, false, false, 1, x, y, 0, c)
		if err == nil {
			cancel()
			continue // it was through
		}
		if took := time.Since(began); !errors.Is(err, context.Canceled) || took > 10*time.Second {
			t.Errorf("canceled after %d ms: %v, %v later", i, err, took)
		}
	}
	_, all := available()
	for left := range 4 { // for B in one piece or in several, and then for each worker's part of A, of which there is one at least
		p := newProduct(context.Background(), s, &all[len(all)-1].matrix64, false, false, 1, x, y, 0, c)
		f := &failing{Allocator: count}
		f.left.Store(int64(left))
		p.alloc = f
		if err := p.run(); err == nil && left < 2 || err != nil && !errors.Is(err, memory.ErrOutOfMemory) {
			t.Errorf("without memory after %d blocks: %v", left, err)
		}
	}
}

// failing has so many blocks left.
type failing struct {
	memory.Allocator
	left atomic.Int64
}

func (f *failing) Allocate(size int64) (memory.Block, error) {
	if f.left.Add(-1) < 0 {
		return memory.Block{}, &memory.OutOfMemory{Place: f.Place(), Requested: size, InUse: -1, Limit: -1}
	}
	return f.Allocator.Allocate(size)
}

// What a product allocates of Go's heap does not grow with it, and what it packs
// goes to the device's memory, which is pooled.
func TestGEMMAllocations(t *testing.T) {
	b, s, _ := counted(t)
	b.Set = Tiers()[len(Tiers())-1]
	r := rand.New(rand.NewPCG(testSeed, 9))
	typ := arrow.PrimitiveTypes.Float32
	for _, n := range []int64{200, 700} {
		for _, transB := range []bool{false, true} { // of the smaller one that is not, tiles pack B
			m := randomMatrix(t, r, typ, n, n)
			c := copied(t, m)
			allocations := testing.AllocsPerRun(3, func() {
				if err := b.GEMM(context.Background(), s, false, transB, 1, m, m, 0, c); err != nil {
					t.Error(err)
				}
			})
			if allocations > 40 {
				t.Errorf("a product of order %d, B turned: %v, makes %g allocations", n, transB, allocations)
			}
		}
	}
}

// Columns are apart where several workers pack B and none packs A, and are all there
// once.
func TestColumnsApart(t *testing.T) {
	_, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 10))
	typ := arrow.PrimitiveTypes.Float64
	_, all := available()
	loops := &all[len(all)-1].matrix64
	width := int64(2 * loops.vector)
	for _, c := range []struct {
		cols, depth int64
		team, want  int
	}{
		{8*width + 3, 600, 2, 2}, {8*width + 3, 600, 1, 1}, {16 * width, 600, 7, 4}, {7 * width, 600, 2, 1}, // too few
		{8 * width, 1, 2, 1},    // B is small
		{17 * width, 600, 2, 1}, // A is packed
	} {
		a, b := randomMatrix(t, r, typ, 100, c.depth), randomMatrix(t, r, typ, c.depth, c.cols)
		p := newProduct(context.Background(), s, loops, false, false, 1, a, b, 0, randomMatrix(t, r, typ, 100, c.cols))
		parts, cols := p.apart(c.team), 0
		for _, part := range parts {
			if &part.b.v[0] != &p.b.v[cols] || &part.c.v[0] != &p.c.v[cols] || part.b.cols != part.c.cols {
				t.Errorf("%v: columns from %d on lie elsewhere", c, cols)
			}
			cols += part.c.cols
		}
		if len(parts) != c.want || cols != int(c.cols) {
			t.Errorf("%v: %d columns in %d parts", c, cols, len(parts))
		}
	}
}

// Who packs adds to rows of C, as who packed the same columns of the step before did: that
// has to be through, also where nobody computes that step yet.
func TestPackingInOrder(t *testing.T) {
	var o order
	o.begin(3, 2, 1)
	ready := func(want bool, step int, pack bool, i int) {
		t.Helper()
		if got := o.ready(step, pack, i); got != want {
			t.Errorf("step %d, packs %v, task %d: ready is %v", step, pack, i, got)
		}
	}
	o.finish(0, true, 1)
	ready(false, 1, true, 0)
	ready(false, 0, false, 0)
	o.finish(0, true, 0)
	ready(true, 1, true, 0)
	ready(true, 0, false, 0)
	ready(false, 2, true, 0)
	o.finish(1, true, 0)
	o.finish(1, true, 1)
	ready(false, 2, true, 0) // the place is in use
	ready(false, 1, false, 0)
	o.finish(0, false, 0)
	ready(true, 2, true, 0)
	ready(true, 1, false, 0)
}

// A task whose context ends while it waits for others says so: where it is the
// last one, nobody else looks at the context before C is taken as finished.
func TestGEMMEndsWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &schedule[float64]{product: &product[float64]{ctx: ctx}, depths: 1, panels: 1}
	s.order.begin(1, 1, 1)
	stop := context.AfterFunc(ctx, s.order.fail)
	defer stop()
	got := make(chan error)
	go func() { got <- s.task(0, 1) }() // computes, and nobody packs
	cancel()
	if err := <-got; !errors.Is(err, device.ErrCanceled) {
		t.Errorf("got %v, want an ErrCanceled", err)
	}
}
