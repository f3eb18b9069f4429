package cpu

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// restless gives the program another number of threads whenever somebody
// allocates memory from it, or looks whether its context has ended.
type restless struct {
	memory.Allocator
	context.Context
	changes atomic.Int64
}

func (c *restless) change() { runtime.GOMAXPROCS(int(c.changes.Add(1)*5%7) + 1) }

func (c *restless) Err() error {
	c.change()
	return c.Context.Err()
}

func (c *restless) Allocate(n int64) (memory.Block, error) {
	c.change()
	return c.Allocator.Allocate(n)
}

// A program may change its number of threads while a kernel runs, as Go itself
// does where a container's limit moves: kernels whose workers have memory of
// their own give the same result.
func TestThreadsChangeMeanwhile(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	unrest := &restless{Allocator: memory.Heap, Context: t.Context()}
	d := host.New(host.WithAllocator(unrest))
	defer d.Close()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &kernels.Backend{Device: d, Set: Tiers()[len(Tiers())-1]}
	r := rand.New(rand.NewPCG(testSeed, 9))
	values := make([]int64, 10*morsel)
	for i := range values {
		values[i] = int64(r.Uint64())
	}
	column := fixedColumn(t, arrow.PrimitiveTypes.Int64, values)
	defer column.Release()
	typ := arrow.PrimitiveTypes.Float64
	long, tall, wide := randomMatrix(t, r, typ, 4, 200_000), randomMatrix(t, r, typ, 200_000, 4), randomMatrix(t, r, typ, 400, 400)
	square, small := copied(t, wide), randomMatrix(t, r, typ, 4, 4)
	product := func(a, b2, c kernels.Matrix) func(ctx context.Context) (*memory.Column, error) {
		return func(ctx context.Context) (*memory.Column, error) {
			if err := b.GEMM(ctx, s, false, false, 1, a, b2, 0, c); err != nil {
				return nil, err
			}
			out := make([]float64, c.Rows*c.Stride)
			copy(out, memory.View[float64](c.Data)[c.Offset:])
			return fixedColumn(t, typ, out), nil
		}
	}
	key := []kernels.SortKey{{Values: column}}
	for name, f := range map[string]func(ctx context.Context) (*memory.Column, error){
		"cast": func(ctx context.Context) (*memory.Column, error) {
			return b.Cast(ctx, s, column, arrow.BinaryTypes.String, kernels.CastOptions{})
		},
		"sort": func(ctx context.Context) (*memory.Column, error) { return b.SortIndices(ctx, s, key) },
		"top":  func(ctx context.Context) (*memory.Column, error) { return b.TopK(ctx, s, key, 1000) },
		"group": func(ctx context.Context) (*memory.Column, error) {
			return b.Unique(ctx, s, []*memory.Column{column}, kernels.GroupOptions{})
		},
		"split": product(long, tall, small),
		"whole": product(wide, square, copied(t, wide)),
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GOMAXPROCS(2)
			want, err := f(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer want.Release()
			before := unrest.changes.Load()
			for range 3 {
				got, err := f(unrest)
				if err != nil {
					t.Error(err)
					continue
				}
				if err := kerneltest.Equal(got, want, kerneltest.Tolerance{}); err != nil {
					t.Error(err)
				}
				got.Release()
			}
			if unrest.changes.Load() == before {
				t.Error("nothing changed meanwhile")
			}
		})
	}
}
