package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// The loops of every tier take as the loop in Go does, and neither read nor write
// beyond their slices.
func TestTakeLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for n := range maxLoop + 1 {
			tryTake(t, r, mem, n, goes.take.u32by32, tier.take.u32by32)
			tryTake(t, r, mem, n, goes.take.u32by64, tier.take.u32by64)
			tryTake(t, r, mem, n, goes.take.u64by32, tier.take.u64by32)
			tryTake(t, r, mem, n, goes.take.u64by64, tier.take.u64by64)
		}
	})
}

// tryTake takes n rows of few and of many, with all, some and none valid, and with one
// that is out of range at any place, valid and not.
func tryTake[T, I uint32 | uint64](t *testing.T, r *rand.Rand, mem *guarded, n int, goes, tier func(dst, src []T, indices []I, valid []uint64) int) {
	t.Helper()
	for round := range 7 {
		mem.again()
		src := room[T](mem, 1+r.IntN(200))
		for i := range src {
			src[i] = T(r.Uint64())
		}
		indices, valid := room[I](mem, n), room[uint64](mem, (n+63)/64)
		for i := range indices {
			indices[i] = I(r.IntN(len(src)))
		}
		for i := range valid {
			valid[i] = [...]uint64{^uint64(0), 0, r.Uint64(), r.Uint64() | r.Uint64() | r.Uint64(), ^uint64(0), 0, 0}[round]
		}
		if round >= 5 {
			valid = nil
		}
		if n > 0 && round >= 2 && round != 5 {
			at := r.IntN(n)
			indices[at] = [...]I{I(len(src)), ^I(0), I(len(src)) + I(r.IntN(1000)), ^I(0) / 2, 1 << 31}[r.IntN(5)]
		}
		dst, want := room[T](mem, n), make([]T, n)
		most := goes(want, src, indices, valid)
		if taken := tier(dst, src, indices, valid); taken != most {
			t.Fatalf("%T by %T: %d rows of %d were taken, not %d", dst, indices, taken, n, most)
		}
		same(t, fmt.Sprintf("%T by %T", dst, indices), n, dst[:most], want[:most])
		mem.intact("what was taken", len(rawBytes(dst)), 3)
	}
}

// From so many values that no cache has them, rows are taken as from few.
func TestTakeFar(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, _ *guarded) {
		tryTakeFar(t, r, goes.take.u32by32, tier.take.u32by32)
		tryTakeFar(t, r, goes.take.u32by64, tier.take.u32by64)
		tryTakeFar(t, r, goes.take.u64by32, tier.take.u64by32)
		tryTakeFar(t, r, goes.take.u64by64, tier.take.u64by64)
	})
}

func tryTakeFar[T, I uint32 | uint64](t *testing.T, r *rand.Rand, goes, tier func(dst, src []T, indices []I, valid []uint64) int) {
	t.Helper()
	src, indices, valid := make([]T, 5<<20), make([]I, 1000), make([]uint64, 16)
	for i := range src {
		src[i] = T(i) * 7
	}
	for i := range indices {
		indices[i] = I(r.IntN(len(src)))
	}
	for i := range valid {
		valid[i] = r.Uint64()
	}
	for _, valid := range [][]uint64{nil, valid} {
		dst, want := make([]T, len(indices)), make([]T, len(indices))
		most := goes(want, src, indices, valid)
		if taken := tier(dst, src, indices, valid); taken != most {
			t.Fatalf("%T by %T: %d rows were taken, not %d", dst, indices, taken, most)
		}
		same(t, "rows from far", len(dst), dst, want)
	}
}

// Each tier takes rows of columns as the reference does: with nulls in neither, in
// values, in indices and in both, from any offset of either, in one block of a loop and
// in more; the first position that is out of range is named whatever is null.
func TestTakeTiers(t *testing.T) {
	_, s, _ := counted(t)
	ctx, r := context.Background(), rand.New(rand.NewPCG(testSeed, 2))
	names, all := available()
	const rows = 700
	for _, value := range []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64} {
		number := func(v int64) kernels.Scalar { return kernels.Int(value, v) }
		if value == arrow.PrimitiveTypes.Float64 {
			number = func(v int64) kernels.Scalar { return kernels.Float(value, float64(v)) }
		}
		for _, index := range []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64} {
			for _, n := range []int{1, 63, 64, 65, 1000, takeBlock - 1, takeBlock, 2*takeBlock + 77} {
				for nulls := range 4 {
					values := rowsFrom(t, makeColumn(t, value, rows+7, func(int) kernels.Scalar {
						if nulls&1 != 0 && r.IntN(3) == 0 {
							return kernels.Null(value)
						}
						return number(r.Int64N(1e6) - 5e5)
					}), 7)
					at := r.IntN(n)
					for _, bad := range []bool{false, true} {
						indices := rowsFrom(t, makeColumn(t, index, n+nulls*5, func(i int) kernels.Scalar {
							switch {
							case bad && i == at+nulls*5:
								return kernels.Int(index, rows)
							case nulls&2 != 0 && r.IntN(3) == 0:
								return kernels.Null(index)
							}
							return kernels.Int(index, r.Int64N(rows))
						}), nulls*5)
						want, refused := reference.New().Take.Func(ctx, s, values, indices, kernels.TakeOptions{})
						for i, l := range all {
							what := fmt.Sprintf("%s: %d of %s by %s, nulls %d", names[i], n, value, index, nulls)
							got, err := l.takeColumn(ctx, s, values, indices, kernels.TakeOptions{})
							if fmt.Sprint(err) != fmt.Sprint(refused) || bad != (err != nil) {
								t.Fatalf("%s: %v, not %v", what, err, refused)
							}
							if err == nil {
								if err := kerneltest.Equal(got, want, kerneltest.Tolerance{}); err != nil {
									t.Fatalf("%s: %v", what, err)
								}
								got.Release()
							}
						}
						if refused == nil {
							want.Release()
						}
					}
				}
			}
		}
	}
}

// rowsFrom is a column from a row on.
func rowsFrom(t *testing.T, c *memory.Column, from int) *memory.Column {
	t.Helper()
	w, err := c.Slice(int64(from), c.Len()-int64(from))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Release)
	return w
}
