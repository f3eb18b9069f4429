package cpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinedSides joins two sides of keys whose rows carry their numbers, and gives
// the pairs as they come, and how many batches they were.
func joinedSides(ctx context.Context, t *testing.T, left, right []int64, o kernels.JoinOptions, rows int64) (pairs []uint64, batches int, err error) {
	d := host.New()
	defer d.Close()
	b := &kernels.Backend{Device: d, Set: Tiers()[0]}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	side := func(keys []int64) kernels.JoinSide {
		numbers := make([]int64, len(keys))
		for i := range numbers {
			numbers[i] = int64(i)
		}
		k, v := fixedColumn(t, arrow.PrimitiveTypes.Int64, keys), fixedColumn(t, arrow.PrimitiveTypes.Int64, numbers)
		t.Cleanup(k.Release)
		t.Cleanup(v.Release)
		return kernels.JoinSide{Keys: []*memory.Column{k}, Columns: []*memory.Column{v, k}}
	}
	joined, err := b.JoinColumns(ctx, s, side(left), side(right), o)
	if err != nil {
		return nil, 0, err
	}
	defer joined.Release()
	for {
		columns, err := joined.Next(ctx, rows)
		if err == io.EOF {
			return pairs, batches, nil
		}
		if err != nil {
			return nil, 0, err
		}
		batches++
		l, lk, r, rk := memory.Values[int64](columns[0]), memory.Values[int64](columns[1]), memory.Values[int64](columns[2]), memory.Values[int64](columns[3])
		for i := range l {
			if left[l[i]] != lk[i] || right[r[i]] != rk[i] || lk[i] != rk[i] {
				t.Fatalf("pair %d of batch %d: rows %d and %d with keys %d and %d", i, batches, l[i], r[i], lk[i], rk[i])
			}
			pairs = append(pairs, uint64(l[i])<<32|uint64(r[i]))
		}
		releaseAll(columns)
	}
}

// Every pair comes once, in the same order whatever the number of threads and
// however many left rows are worked on at once: of keys that come once, that come
// often on both sides and so stop a worker in the middle, and of one key.
func TestJoinColumnsShapes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	many, crowd, counts, piece := 100_000, 2500, []int{1, 2, 7}, int64(1<<22)
	if testing.Short() || raceDetector {
		many = 20_000
	}
	if raceDetector { // it asks whether workers meet
		crowd, counts, piece = crowd/2, counts[2:], piece/4
	}
	spread := func(i int) int64 { return int64(mix(uint64(i))) }
	for name, shape := range map[string]struct {
		left, right int
		key         func(side, i int) int64
		batches     int // at least
	}{
		"once":        {many, many, func(side, i int) int64 { return spread((i*7919 + side) % many) }, 1},
		"dense":       {many, many / 2, func(_, i int) int64 { return int64(i) }, 1},
		"none":        {many, many, func(side, i int) int64 { return spread(2*i + side) }, 0},
		"often":       {many, 200, func(_, i int) int64 { return spread(i % 20) }, 1},
		"one key":     {crowd, crowd * 4 / 5, func(_, i int) int64 { return 7 }, 3},
		"most of one": {crowd * 6 / 5, crowd * 6 / 5, func(_, i int) int64 { return spread(i * (i % 3 / 2)) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			left, right := make([]int64, shape.left), make([]int64, shape.right)
			for i := range left {
				left[i] = shape.key(0, i)
			}
			at := map[int64]int64{}
			for i := range right {
				right[i] = shape.key(1, i)
				at[right[i]]++
			}
			want := int64(0)
			for _, k := range left {
				want += at[k]
			}
			var first, sorted []uint64
			for _, threads := range counts {
				runtime.GOMAXPROCS(threads)
				pairs, batches, err := joinedSides(t.Context(), t, left, right, kernels.JoinOptions{AnyOrder: true}, int64(threads)*piece)
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(pairs)) != want || batches < shape.batches {
					t.Fatalf("%d threads: %d pairs in %d batches, want %d pairs", threads, len(pairs), batches, want)
				}
				if first == nil {
					first = pairs
					if raceDetector { // which makes sorting millions of pairs ten times as long
						if _, _, err := joinedSides(t.Context(), t, left, right, kernels.JoinOptions{}, 1<<20); err != nil {
							t.Fatal(err)
						}
						continue
					}
					sorted = slices.Clone(pairs)
					slices.Sort(sorted)
					if n := len(slices.Compact(sorted)); int64(n) != want {
						t.Fatalf("%d pairs, %d of them distinct", want, n)
					}
				} else if !slices.Equal(pairs, first) {
					t.Errorf("%d threads: another order", threads)
				}
				if sorted != nil {
					inOrder, _, err := joinedSides(t.Context(), t, left, right, kernels.JoinOptions{}, 1<<20)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(inOrder, sorted) {
						t.Errorf("%d threads: in left order there are other pairs", threads)
					}
				}
			}
		})
	}
}

// A join of columns in either order stops within its steps when its context ends.
func TestJoinColumnsCanceled(t *testing.T) {
	keys := make([]int64, 20_000)
	for i := range keys {
		keys[i] = int64(i % 3)
	}
	for looks := range int64(30) {
		for _, o := range []kernels.JoinOptions{{AnyOrder: true}, {MaxPairs: 1 << 40}} {
			ctx := &endsAfter{Context: t.Context()}
			ctx.looks.Store(looks)
			if _, _, err := joinedSides(ctx, t, keys, keys, o, 1<<20); !errors.Is(err, device.ErrCanceled) {
				t.Fatalf("%+v, after %d looks at the context: %v", o, looks, err)
			}
		}
	}
}

// endsAfter is a context that ends after so many looks at it.
type endsAfter struct {
	context.Context
	looks atomic.Int64
}

func (c *endsAfter) Err() error {
	if c.looks.Add(-1) < 0 {
		return fmt.Errorf("%w: enough", context.Canceled)
	}
	return nil
}
