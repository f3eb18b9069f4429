package gonum

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BenchmarkDgemm has gonum's loops beside ours, as the others have.
func BenchmarkDgemm(b *testing.B) {
	for _, n := range []int{32, 64, 128, 1024} {
		each(b, strconv.Itoa(n), func(b *testing.B, impl blas.Float64) {
			r := rand.New(rand.NewPCG(1, 1))
			x, y, z := values[float64](r, n*n), values[float64](r, n*n), make([]float64, n*n)
			for b.Loop() {
				impl.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, z, n)
			}
			b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkDdot(b *testing.B) {
	for _, n := range []int{512, 4096, 1 << 20} {
		each(b, strconv.Itoa(n), func(b *testing.B, impl blas.Float64) {
			r := rand.New(rand.NewPCG(1, 1))
			x, y := values[float64](r, n), values[float64](r, n)
			b.SetBytes(int64(16 * n))
			for b.Loop() {
				impl.Ddot(n, x, 1, y, 1)
			}
		})
	}
}

func BenchmarkDaxpy(b *testing.B) {
	for _, n := range []int{512, 4096, 1 << 20} {
		each(b, strconv.Itoa(n), func(b *testing.B, impl blas.Float64) {
			r := rand.New(rand.NewPCG(1, 1))
			x, y := values[float64](r, n), values[float64](r, n)
			b.SetBytes(int64(24 * n))
			for b.Loop() {
				impl.Daxpy(n, 1e-9, x, 1, y, 1)
			}
		})
	}
}

// each runs a benchmark over ours and over gonum's own loops.
func each(b *testing.B, size string, run func(*testing.B, blas.Float64)) {
	ours, err := New(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close()
	for _, impl := range []struct {
		name string
		blas blas.Float64
	}{{"volley", ours}, {"gonum", gonum.Implementation{}}} {
		b.Run(fmt.Sprintf("blas=%s/size=%s", impl.name, size), func(b *testing.B) { run(b, impl.blas) })
	}
}

// BenchmarkDgemv has gonum's loops beside ours.
func BenchmarkDgemv(b *testing.B) {
	for _, n := range []int{64, 256, 2048} {
		each(b, strconv.Itoa(n), func(b *testing.B, impl blas.Float64) {
			r := rand.New(rand.NewPCG(1, 1))
			a, x, y := values[float64](r, n*n), values[float64](r, n), make([]float64, n)
			b.SetBytes(int64(8 * n * n))
			for b.Loop() {
				impl.Dgemv(blas.NoTrans, n, n, 1, a, n, x, 1, 0, y, 1)
			}
		})
	}
}
