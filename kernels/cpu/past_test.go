package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// Columns above pastCaches have loops of their own: the same results, on every
// tier and by any number of threads.
func TestPastCaches(t *testing.T) {
	d := host.New()
	defer d.Close()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const rows = pastCaches/8 + 3*morsel/2 + 77
	r := rand.New(rand.NewPCG(testSeed, 11))
	values, bits := make([]float64, rows), make(memory.Bitmap, memory.BitmapBytes(rows))
	for i := range values {
		values[i] = r.NormFloat64()
	}
	for i := range bits {
		bits[i] = byte(r.Uint32() & r.Uint32())
	}
	column := fixedColumn(t, arrow.PrimitiveTypes.Float64, values)
	defer column.Release()
	mask, err := memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: rows, Buffers: []*memory.Buffer{nil, memory.Wrap(bits, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer mask.Release()
	for name, f := range map[string]func(b *kernels.Backend) (*memory.Column, error){
		"filter": func(b *kernels.Backend) (*memory.Column, error) {
			return b.Filter(t.Context(), s, column, mask, kernels.FilterOptions{})
		},
		"filter where": func(b *kernels.Backend) (*memory.Column, error) {
			kept, done, err := b.FilterWhere(t.Context(), s, []*memory.Column{column}, func(_ context.Context, from, n int64) (*memory.Column, error) {
				return mask.Slice(from, n)
			})
			if err != nil || !done {
				t.Fatalf("done: %t; %v", done, err)
			}
			return kept[0], nil
		},
	} {
		t.Run(name, func(t *testing.T) { sameByThreads(t, d, f) })
	}
}

// Sums of columns on both sides of pastCaches are those in Go on every tier and by
// any number of threads: floats bit for bit, since the shape fixes their order.
func TestScanThreads(t *testing.T) {
	d := host.New()
	defer d.Close()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	types := arrow.PrimitiveTypes
	for i, c := range []struct {
		typ arrow.DataType
		of  func(t *testing.T, typ arrow.DataType, rows int) *memory.Column
	}{
		{types.Int8, noise[int8]}, {types.Uint16, noise[uint16]}, {types.Int32, noise[int32]}, {types.Uint32, noise[uint32]},
		{types.Int64, noise[int64]}, {types.Uint64, noise[uint64]}, {types.Float32, noise[float32]}, {types.Float64, noise[float64]},
	} {
		if raceDetector && i%7 != 0 { // the narrowest and the widest: workers meet alike in all
			continue
		}
		for _, bytes := range []int{pastCaches / 16, pastCaches} {
			column := c.of(t, c.typ, bytes/memory.Width(c.typ)+3*morsel/2+77)
			for _, o := range []kernels.ScanOptions{{}, {Exclusive: true}} {
				if o.Exclusive && bytes == pastCaches {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%t", c.typ, column.Len(), o.Exclusive), func(t *testing.T) {
					sameByThreads(t, d, func(b *kernels.Backend) (*memory.Column, error) {
						return b.Scan(t.Context(), s, kernels.CumulativeSum, column, o)
					})
				})
			}
			column.Release()
		}
	}
}

// noise is a column of numbers, of which floats are around 0.
func noise[T number](t *testing.T, typ arrow.DataType, rows int) *memory.Column {
	r := rand.New(rand.NewPCG(testSeed, 12))
	values := make([]T, rows)
	for i := range values {
		if T(1)/2 != 0 {
			values[i] = T(r.NormFloat64())
		} else {
			values[i] = T(r.Uint64())
		}
	}
	return fixedColumn(t, typ, values)
}

// sameByThreads fails the test where what f makes differs between tiers and
// numbers of threads. Under the race detector, which sees no assembly and asks for no
// answers, it makes it by the loops in Go on 7 threads.
func sameByThreads(t *testing.T, d device.Device, f func(b *kernels.Backend) (*memory.Column, error)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if raceDetector {
		runtime.GOMAXPROCS(7)
		got, err := f(&kernels.Backend{Device: d, Set: Tiers()[0]})
		if err != nil {
			t.Fatal(err)
		}
		got.Release()
		return
	}
	want, err := f(&kernels.Backend{Device: d, Set: Tiers()[0]})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	for _, set := range Tiers() {
		for _, threads := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(threads)
			got, err := f(&kernels.Backend{Device: d, Set: set})
			if err != nil {
				t.Fatal(err)
			}
			if err := kerneltest.Equal(got, want, kerneltest.Tolerance{}); err != nil {
				t.Errorf("%s, %d threads: %v", set.Name, threads, err)
			}
			got.Release()
		}
	}
}
