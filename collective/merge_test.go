package collective

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/collective/algorithm"
)

// Reductions to one rank and to blocks that are merged have the bits of the algorithms that keep the same order, of
// numbers that are widened too, out of place and in place.
func TestMergedReductions(t *testing.T) {
	const ranks, block, root = 3, 20_001, 1
	ctx := context.Background()
	var results [2][][]uint16
	for i := range results {
		o := Options{Deterministic: true}
		if i == 1 {
			o.Algorithms = map[algorithm.Op]string{}
			for _, op := range []algorithm.Op{algorithm.Reduce, algorithm.ReduceScatter} {
				o.Algorithms[op] = algorithm.For(op)[0].Name
			}
		}
		all := make([][]uint16, ranks)
		must(t, world(t, ranks, o), func(c *Comm) error {
			given := make([]float32, ranks*block)
			r := rand.New(rand.NewPCG(3, uint64(c.Rank())))
			for i := range given {
				given[i] = r.Float32() - 0.5
			}
			upper := make([]uint16, len(given))
			for i, x := range given {
				upper[i] = uint16(math.Float32bits(x) >> 16)
			}
			for _, of := range []func() Vector{
				func() Vector { return Of(slices.Clone(given)) },
				func() Vector { return BFloats(slices.Clone(upper)) },
			} {
				for _, inPlace := range []bool{false, true} {
					in := of()
					sum, part := in, in.Slice(int64(c.Rank())*block, int64(c.Rank()+1)*block)
					if !inPlace {
						sum = of()
						part = sum.Slice(0, block)
					}
					if err := c.Reduce(ctx, in, sum, Avg, root); err != nil {
						return err
					}
					if c.Rank() == root {
						all[root] = append(all[root], as[uint16](sum.bytes)...)
					}
					if err := c.ReduceScatter(ctx, in, part, Sum); err != nil {
						return err
					}
					all[c.Rank()] = append(all[c.Rank()], as[uint16](part.bytes)...)
				}
			}
			for _, op := range []algorithm.Op{algorithm.Reduce, algorithm.ReduceScatter} {
				if merges := strings.Contains(c.Explain(op, Float32, ranks*block), MergeName+", because"); merges != (i == 0) {
					return fmt.Errorf("%s merges: %v", op, merges)
				}
			}
			return nil
		})
		results[i] = all
	}
	for r := range ranks {
		if !slices.Equal(results[0][r], results[1][r]) {
			t.Errorf("rank %d has other results", r)
		}
	}
}

// What a merge counts is what its results need: of an all-reduce each rank's parts of the other blocks go out and the own
// block's come in, and then the blocks' sums the other way; of a reduction to one rank these go to it alone, to blocks
// nowhere. What all ranks send is what all receive.
func TestMergedStats(t *testing.T) {
	const ranks, block, root = 4, 64 << 10, 2 // bytes
	for _, of := range []struct {
		op             algorithm.Op
		sent, received func(rank int) uint64 // blocks
		run            func(c *Comm, v, sum Vector) error
	}{
		{algorithm.AllReduce, func(int) uint64 { return 6 }, func(int) uint64 { return 6 }, func(c *Comm, v, sum Vector) error {
			return c.AllReduce(context.Background(), v, sum, Sum)
		}},
		{algorithm.Reduce, func(rank int) uint64 {
			if rank == root {
				return 3
			}
			return 4
		}, func(rank int) uint64 {
			if rank == root {
				return 6
			}
			return 3
		}, func(c *Comm, v, sum Vector) error {
			return c.Reduce(context.Background(), v, sum, Sum, root)
		}},
		{algorithm.ReduceScatter, func(int) uint64 { return 3 }, func(int) uint64 { return 3 }, func(c *Comm, v, sum Vector) error {
			return c.ReduceScatter(context.Background(), v, sum.Slice(0, block/4), Sum)
		}},
	} {
		comms := world(t, ranks, Options{Deadline: limit})
		must(t, comms, func(c *Comm) error {
			return of.run(c, Of(make([]float32, ranks*block/4)), Of(make([]float32, ranks*block/4)))
		})
		var sent, received uint64
		for r, c := range comms {
			s := c.Stats()
			if len(s.Operations) != 1 || s.Operations[0].Algorithm != MergeName {
				t.Fatalf("%s: operations %+v", of.op, s.Operations)
			}
			sent, received = sent+s.Sent.Bytes, received+s.Received.Bytes
			if want := of.sent(r) * block; s.Sent.Bytes != want {
				t.Errorf("%s: rank %d sent %d bytes, not %d", of.op, r, s.Sent.Bytes, want)
			}
			if want := of.received(r) * block; s.Received.Bytes != want {
				t.Errorf("%s: rank %d received %d bytes, not %d", of.op, r, s.Received.Bytes, want)
			}
		}
		if sent != received {
			t.Errorf("%s: %d bytes sent and %d received", of.op, sent, received)
		}
	}
}

// Sums of long vectors are stored past the caches where results are apart, of 2 and 4 ranks and of all types that there are loops
// for: the bits are the canonical tree's, wherever in a line vectors begin.
func TestMergedLongSums(t *testing.T) {
	for _, ranks := range []int{2, 4} {
		mergedLongSums(t, ranks, func(r *rand.Rand) float32 { return r.Float32() - 0.5 })
		mergedLongSums(t, ranks, func(r *rand.Rand) float64 { return r.Float64() - 0.5 })
		mergedLongSums(t, ranks, func(r *rand.Rand) int32 { return int32(r.Uint32()) })
		mergedLongSums(t, ranks, func(r *rand.Rand) uint64 { return r.Uint64() })
	}
}

func mergedLongSums[T exact](t *testing.T, ranks int, number func(*rand.Rand) T) {
	t.Helper()
	const root = 1
	n := 8<<20/ranks/int(unsafe.Sizeof(T(0))) + 3*ranks // with results, 16 MiB and a little
	vectors, want := make([][]T, ranks), make([]T, n)
	for k := range vectors {
		r := rand.New(rand.NewPCG(5, uint64(k)))
		vectors[k] = make([]T, n)
		for i := range n {
			vectors[k][i] = number(r)
		}
	}
	for i := range want {
		want[i] = vectors[0][i] + vectors[1][i]
		if ranks == 4 {
			want[i] += vectors[2][i] + vectors[3][i]
		}
	}
	block := n / ranks
	must(t, world(t, ranks, Options{}), func(c *Comm) error {
		me := c.Rank()
		for _, shift := range []int{0, 1, me} { // alike, and not
			out := make([]T, n+shift)[shift:]
			if err := c.AllReduce(context.Background(), Of(vectors[me]), Of(out), Sum); err != nil {
				return err
			}
			if !slices.Equal(out, want) {
				t.Errorf("%d ranks, %T: rank %d has another sum", ranks, want, me)
			}
			clear(out)
			if err := c.Reduce(context.Background(), Of(vectors[me]), Of(out), Sum, root); err != nil {
				return err
			}
			if me == root && !slices.Equal(out, want) {
				t.Errorf("%d ranks, %T: the root has another sum", ranks, want)
			}
			clear(out)
			if err := c.ReduceScatter(context.Background(), Of(vectors[me]), Of(out[:block]), Sum); err != nil {
				return err
			}
			if !slices.Equal(out[:block], want[me*block:][:block]) {
				t.Errorf("%d ranks, %T: rank %d has another block", ranks, want, me)
			}
		}
		return nil
	})
}
