package gonum

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/blas/testblas"
	"gonum.org/v1/gonum/mat"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// eager is a BLAS that uses our loops for the least vector and product.
func eager(t *testing.T) *BLAS {
	t.Helper()
	b, err := New(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Err())
		require.NoError(t, b.Close())
	})
	b.product, b.affine, b.vector = 0, 0, 0
	return b
}

// TestBLAS is gonum's own suite, with our loops throughout, and as users have it.
func TestBLAS(t *testing.T) {
	usual, err := New(context.Background())
	require.NoError(t, err)
	defer usual.Close()
	for name, b := range map[string]*BLAS{"least": eager(t), "usual": usual} {
		t.Run(name, func(t *testing.T) {
			testblas.TestDgemm(t, b)
			testblas.DgemvTest(t, b)
			testblas.DdotTest(t, b)
			testblas.DaxpyTest(t, b)
			testblas.DscalTest(t, b)
			testblas.Dnrm2Test(t, b)
			testblas.DasumTest(t, b)
			testblas.IdamaxTest(t, b)
			testblas.DcopyTest(t, b)
			testblas.DswapTest(t, b)
			testblas.DgerTest(t, b)
			testblas.DsyrkTest(t, b)
			testblas.DsymmTest(t, b)
			testblas.DtrmmTest(t, b)
			testblas.DtrsmTest(t, b)
			testblas.DsymvTest(t, b)
			testblas.DtrsvTest(t, b)
		})
	}
}

func values[T float](r *rand.Rand, n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(r.NormFloat64())
	}
	return v
}

func clone[T any](v []T) []T { return append([]T(nil), v...) }

// near holds results against gonum's, relative to the sums of the absolute products.
func near[T float](t *testing.T, want, have []T, bound float64, what ...any) {
	t.Helper()
	require.Len(t, have, len(want))
	for i := range want {
		if math.Abs(float64(want[i])-float64(have[i])) > bound {
			require.Failf(t, "differs", "%v: element %d is %v, gonum has %v", what, i, have[i], want[i])
		}
	}
}

// TestProductsAgainstGonum covers what testblas has not: larger matrices, windows of larger ones, increments, both types.
func TestProductsAgainstGonum(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	b, theirs := eager(t), gonum.Implementation{}
	for _, shape := range [][3]int{{1, 1, 1}, {3, 5, 2}, {17, 1, 33}, {1, 40, 9}, {65, 63, 70}, {130, 20, 300}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				for _, scale := range [][2]float64{{1, 0}, {0.5, 1}, {-2, 0.25}, {0, 3}} {
					lda, ldb, ldc := max(m, k)+r.IntN(3), max(n, k)+r.IntN(3), n+r.IntN(3)
					a, bm, c := values[float64](r, max(m, k)*lda), values[float64](r, max(n, k)*ldb), values[float64](r, m*ldc)
					want, have := clone(c), clone(c)
					theirs.Dgemm(tA, tB, m, n, k, scale[0], a, lda, bm, ldb, scale[1], want, ldc)
					b.Dgemm(tA, tB, m, n, k, scale[0], a, lda, bm, ldb, scale[1], have, ldc)
					near(t, want, have, 1e-12*float64(k+10), "dgemm", shape, tA, tB, scale)

					a32, b32, c32 := values[float32](r, len(a)), values[float32](r, len(bm)), values[float32](r, len(c))
					want32, have32 := clone(c32), clone(c32)
					theirs.Sgemm(tA, tB, m, n, k, float32(scale[0]), a32, lda, b32, ldb, float32(scale[1]), want32, ldc)
					b.Sgemm(tA, tB, m, n, k, float32(scale[0]), a32, lda, b32, ldb, float32(scale[1]), have32, ldc)
					near(t, want32, have32, 1e-5*float64(k+10), "sgemm", shape, tA, tB, scale)
				}
			}
			for _, inc := range [][2]int{{1, 1}, {2, 3}, {-1, 1}, {1, -2}} {
				nx, ny := k, m
				if tA != blas.NoTrans {
					nx, ny = m, k
				}
				lda := k + 1
				a, x, y := values[float64](r, m*lda), values[float64](r, nx*3), values[float64](r, ny*3)
				want, have := clone(y), clone(y)
				theirs.Dgemv(tA, m, k, 0.5, a, lda, x, inc[0], 2, want, inc[1])
				b.Dgemv(tA, m, k, 0.5, a, lda, x, inc[0], 2, have, inc[1])
				near(t, want, have, 1e-12*float64(k+m), "dgemv", shape, tA, inc)

				a32, x32, y32 := values[float32](r, len(a)), values[float32](r, len(x)), values[float32](r, len(y))
				want32, have32 := clone(y32), clone(y32)
				theirs.Sgemv(tA, m, k, 0.5, a32, lda, x32, inc[0], 2, want32, inc[1])
				b.Sgemv(tA, m, k, 0.5, a32, lda, x32, inc[0], 2, have32, inc[1])
				near(t, want32, have32, 1e-5*float64(k+m), "sgemv", shape, tA, inc)
			}
		}
	}
}

// TestVectorsAgainstGonum is at every length around the width of registers and around a block.
func TestVectorsAgainstGonum(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, seed))
	b, theirs := eager(t), gonum.Implementation{}
	var lengths []int
	for n := range 70 {
		lengths = append(lengths, n)
	}
	for _, n := range append(lengths, 127, 511, 512, 513, 1024, 5000, part, part+1, 3*part+77) {
		x, y := values[float64](r, n+3), values[float64](r, n+3)
		require.InDelta(t, theirs.Ddot(n, x, 1, y, 1), b.Ddot(n, x, 1, y, 1), 1e-12*float64(n+1), "ddot of %d", n)
		want, have := clone(y), clone(y)
		theirs.Daxpy(n, 0.3, x, 1, want, 1)
		b.Daxpy(n, 0.3, x, 1, have, 1)
		near(t, want, have, 1e-15*10, "daxpy", n)
		theirs.Dscal(n, -1.7, want, 1)
		b.Dscal(n, -1.7, have, 1)
		near(t, want, have, 1e-15*20, "dscal", n)

		x32, y32 := values[float32](r, n+3), values[float32](r, n+3)
		want32, have32 := clone(y32), clone(y32)
		theirs.Saxpy(n, 0.3, x32, 1, want32, 1)
		b.Saxpy(n, 0.3, x32, 1, have32, 1)
		near(t, want32, have32, 1e-6*5, "saxpy", n)
		theirs.Sscal(n, -1.7, want32, 1)
		b.Sscal(n, -1.7, have32, 1)
		near(t, want32, have32, 1e-6*10, "sscal", n)
	}
	v := []float64{math.NaN(), math.Inf(1), 2}
	b.Dscal(3, 0, v, 1)
	require.Equal(t, []float64{0, 0, 0}, v, "a scale of 0 is no product")
}

// TestOverlap has results that are operands: a vector added to itself, and a product into one of its matrices, which gonum computes.
func TestOverlap(t *testing.T) {
	b := eager(t)
	x := values[float64](rand.New(rand.NewPCG(5, 5)), 1000)
	want, have := clone(x), clone(x)
	gonum.Implementation{}.Daxpy(len(x), 2, want, 1, want, 1)
	b.Daxpy(len(x), 2, have, 1, have, 1)
	require.Equal(t, want, have)
	a := []float64{1, 2, 3, 4}
	wantC, haveC := clone(a), clone(a)
	gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, 2, 2, 2, 1, wantC, 2, []float64{1, 0, 0, 1}, 2, 0, wantC, 2)
	b.Dgemm(blas.NoTrans, blas.NoTrans, 2, 2, 2, 1, haveC, 2, []float64{1, 0, 0, 1}, 2, 0, haveC, 2)
	require.Equal(t, wantC, haveC)
}

// TestMat solves equations with gonum/mat on our loops.
func TestMat(t *testing.T) {
	b, err := New(context.Background())
	require.NoError(t, err)
	defer b.Close()
	before := blas64.Implementation()
	blas64.Use(b)
	defer blas64.Use(before)
	const n, seed = 200, 3
	r := rand.New(rand.NewPCG(seed, seed))
	m := mat.NewDense(n, n, values[float64](r, n*n))
	var square mat.SymDense
	square.SymOuterK(1, m)
	for i := range n {
		square.SetSym(i, i, square.At(i, i)+1)
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(&square))
	x := mat.NewVecDense(n, values[float64](r, n))
	var y, back mat.VecDense
	y.MulVec(&square, x)
	require.NoError(t, chol.SolveVecTo(&back, &y))
	back.SubVec(&back, x)
	require.Less(t, mat.Norm(&back, 2)/mat.Norm(x, 2), 1e-8)
	require.NoError(t, b.Err())
}

// TestCanceled has a product whose context has ended: NaNs, and the reason.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b, err := New(ctx)
	require.NoError(t, err)
	defer b.Close()
	b.product, b.affine = 0, 0
	cancel()
	a, c := []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8, 9}
	b.Dgemm(blas.NoTrans, blas.NoTrans, 2, 2, 2, 1, a, 2, a, 2, 1, c, 3)
	require.True(t, errors.Is(b.Err(), device.ErrCanceled), "%v", b.Err())
	for i, v := range c {
		require.Equal(t, i != 2, math.IsNaN(v), "element %d is %v; 2 lies between the rows", i, v)
	}
	y := []float32{1, 2}
	b.Sgemv(blas.NoTrans, 2, 2, 1, []float32{1, 2, 3, 4}, 2, []float32{1, 1}, 1, 0, y, 1)
	require.True(t, math.IsNaN(float64(y[0])) && math.IsNaN(float64(y[1])))
}

// TestOn takes the caller's kernels and memory, and refuses those of another place.
func TestOn(t *testing.T) {
	memories := memory.NewCounted(memory.Heap)
	backend, err := cpu.New(host.New(host.WithAllocator(memory.NewLimited(memories, 64))))
	require.NoError(t, err)
	defer backend.Close()
	b, err := On(context.Background(), backend)
	require.NoError(t, err)
	const n = 300
	a, c := values[float64](rand.New(rand.NewPCG(2, 2)), n*n), make([]float64, n*n)
	b.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, a, n, 0, c, n)
	require.ErrorIs(t, b.Err(), device.ErrOutOfMemory)
	require.True(t, math.IsNaN(c[0]) && math.IsNaN(c[n*n-1]))
	require.NoError(t, b.Close())
	stream, err := backend.NewStream()
	require.NoError(t, err, "the backend is the caller's, and open")
	require.NoError(t, stream.Close())
	require.Zero(t, memories.Stats().Blocks)

	_, err = On(context.Background(), &kernels.Backend{Device: elsewhere{backend.Device}, Set: backend.Set})
	require.ErrorIs(t, err, device.ErrMismatch)
}

// elsewhere is a device whose memory is not the host's.
type elsewhere struct{ device.Device }

func (elsewhere) Place() memory.Place { return memory.Place{Type: memory.CUDA} }
