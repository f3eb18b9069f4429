package distributed

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// BenchmarkJoin joins two tables of a million rows and two int64 columns each, with random keys, on this process and on ranks of it.
func BenchmarkJoin(b *testing.B) {
	const rows = 1 << 20
	backend := backends.Open(b, func(a memory.Allocator) memory.Allocator { return a })
	b.Cleanup(func() { require.NoError(b, backend.Close()) })
	random := func(seed uint64, n int, name string) *table.Table {
		r := rand.New(rand.NewPCG(seed, 1))
		k, v := make([]int64, n), make([]int64, n)
		for i := range k {
			k[i], v[i] = r.Int64N(rows), int64(i)
		}
		return ints(backend, "k", k, name, v)
	}
	b.Run("by=table", func(b *testing.B) {
		left, right := random(1, rows, "a"), random(2, rows, "b")
		defer left.Release()
		defer right.Release()
		for b.Loop() {
			t, err := left.Query().Join(right, table.Inner, table.On("k")).Collect(b.Context())
			require.NoError(b, err)
			t.Release()
		}
	})
	for _, n := range []int{2, 4} {
		b.Run(fmt.Sprintf("ranks=%d", n), func(b *testing.B) {
			for _, err := range groupOver(nil, inproc.New(n), collective.Options{Deadline: time.Minute}, func(int) *kernels.Backend { return backend }, func(r *rank) error {
				a, c := random(uint64(2*r.id()), rows/n, "a"), random(uint64(2*r.id()+1), rows/n, "b")
				defer a.Release()
				defer c.Release()
				left, err := New(r, r.comm, a)
				if err != nil {
					return err
				}
				defer left.Release()
				right, err := New(r, r.comm, c)
				if err != nil {
					return err
				}
				defer right.Release()
				if r.id() > 0 {
					for {
						more := []int64{0}
						if err := r.comm.Broadcast(r, collective.Of(more), collective.Of(more), 0); err != nil || more[0] == 0 {
							return err
						}
						j, err := left.Join(r, right, table.Inner, table.On("k"))
						if err != nil {
							return err
						}
						j.Release()
					}
				}
				for b.Loop() {
					more := []int64{1}
					if err := r.comm.Broadcast(r, collective.Of(more), collective.Of(more), 0); err != nil {
						return err
					}
					j, err := left.Join(r, right, table.Inner, table.On("k"))
					if err != nil {
						return err
					}
					j.Release()
				}
				more := []int64{0}
				return r.comm.Broadcast(r, collective.Of(more), collective.Of(more), 0)
			}) {
				require.NoError(b, err)
			}
		})
	}
}
