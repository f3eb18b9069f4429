package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

const whereTestRows = whereRows + 3*morsel + 77

// whereColumns are columns of every width.
func whereColumns(t *testing.T, r *rand.Rand) []*memory.Column {
	random := make([]byte, 16*(whereTestRows+3))
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	var columns []*memory.Column
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Int64,
		&arrow.Decimal128Type{Precision: 38, Scale: 2}} {
		whole, err := memory.NewColumn(memory.Parts{Type: typ, Len: whereTestRows + 3, Buffers: []*memory.Buffer{nil, memory.Wrap(random, nil)}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := whole.Slice(3, whereTestRows)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	return columns
}

// masks are those that FilterWhere is tried with, and whether it is to decline.
func whereMasks(r *rand.Rand) map[string]struct {
	keep     func(i int) bool
	declines bool
} {
	type m = struct {
		keep     func(i int) bool
		declines bool
	}
	random := func(share float64) func(int) bool {
		bits := make([]bool, whereTestRows+5)
		for i := range bits {
			bits[i] = r.Float64() < share
		}
		return func(i int) bool { return bits[i] }
	}
	return map[string]m{
		"none": {func(int) bool { return false }, false},
		"all":  {func(int) bool { return true }, true},
		"1 %":  {random(0.01), false}, "10 %": {random(0.1), false}, "50 %": {random(0.5), false}, "95 %": {random(0.95), false},
		"front":                {func(i int) bool { return i < whereTestRows/3 }, false},
		"what the sample sees": {func(i int) bool { return i%(whereTestRows/whereSamples) < whereSample-8 }, false},
		"what it does not see": {func(i int) bool { return i%(whereTestRows/whereSamples) > whereSample }, true},
	}
}

// FilterWhere gives what Filter gives, on any number of threads, or declines. Under the
// race detector, which sees no assembly, it is made by the loops in Go on 7 threads.
func TestFilterWhere(t *testing.T) {
	const seed = 53
	r := rand.New(rand.NewPCG(seed, 1))
	columns := whereColumns(t, r)
	ctx := context.Background()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	sets, counts := Tiers(), []int{1, 2, 7}
	if raceDetector {
		sets, counts = sets[:1], counts[2:]
	}
	for name, m := range whereMasks(r) {
		values := make(memory.Bitmap, memory.BitmapBytes(whereTestRows+5))
		valid := make(memory.Bitmap, len(values))
		for i := range int64(whereTestRows) {
			values.Put(i+5, m.keep(int(i)))
			valid.Put(i+5, name != "10 %" || i%7 > 0)
		}
		mask, err := memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: whereTestRows, Offset: 5, Nulls: memory.UnknownNulls,
			Buffers: []*memory.Buffer{memory.Wrap(valid, nil), memory.Wrap(values, nil)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			for _, threads := range counts {
				runtime.GOMAXPROCS(threads)
				counted := memory.NewCounted(memory.Heap)
				whereIsFilter(ctx, t, fmt.Sprintf("%s, %s, %d threads (seed %d)", name, set.Name, threads, seed),
					&kernels.Backend{Device: host.New(host.WithAllocator(counted)), Set: set}, columns, mask, m.declines)
				if err := counted.Check(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func whereIsFilter(ctx context.Context, t *testing.T, what string, b *kernels.Backend, columns []*memory.Column, mask *memory.Column, declines bool) {
	t.Helper()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, done, err := b.FilterWhere(ctx, s, columns, func(_ context.Context, from, n int64) (*memory.Column, error) { return mask.Slice(from, n) })
	if err != nil || done == declines {
		t.Fatalf("%s: done %v, %v", what, done, err)
	}
	for i, g := range got {
		want, err := b.Filter(ctx, s, columns[i], mask, kernels.FilterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if g.Len() != want.Len() || !bytes.Equal(shownBytes(g), shownBytes(want)) {
			t.Errorf("%s: column %d of %d rows is not Filter's of %d", what, i, g.Len(), want.Len())
		}
		if room := g.Buffer(1).Len(); room != g.Len()*int64(memory.Width(g.Type())) {
			t.Errorf("%s: column %d has a buffer of %d bytes", what, i, room)
		}
		g.Release()
		want.Release()
	}
}

func shownBytes(c *memory.Column) []byte {
	w := int64(memory.Width(c.Type()))
	return c.Buffer(1).Bytes()[c.Offset()*w : (c.Offset()+c.Len())*w]
}

// An error and a panic of the mask, and the end of the context, end FilterWhere
// with the error, and all of its workers.
func TestFilterWhereFails(t *testing.T) {
	b, err := New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := fixedColumn(t, arrow.PrimitiveTypes.Int8, make([]int8, whereTestRows))
	defer c.Release()
	half := memory.Bitmap(slices.Repeat([]byte{0x55}, whereTestRows/8+1))
	broken := errors.New("broken")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for name, fail := range map[string]func(cancel func()) error{
		"error": func(func()) error { return broken },
		"panic": func(func()) error { panic(broken) },
		"end":   func(cancel func()) error { cancel(); return nil },
	} {
		for _, at := range []int64{1, whereSamples + 1, whereSamples + 4} {
			ctx, cancel := context.WithCancel(context.Background())
			var calls atomic.Int64
			kept, done, err := b.FilterWhere(ctx, s, []*memory.Column{c}, func(_ context.Context, from, n int64) (*memory.Column, error) {
				if calls.Add(1) == at {
					if err := fail(cancel); err != nil {
						return nil, err
					}
				}
				return memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: n, Buffers: []*memory.Buffer{nil, memory.Wrap(half, nil)}})
			})
			cancel()
			if err == nil || done || kept != nil {
				t.Fatalf("%s at call %d: done %v, %v", name, at, done, err)
			}
			if name == "error" && !errors.Is(err, broken) || name == "end" && !errors.Is(err, device.ErrCanceled) {
				t.Errorf("%s at call %d: %v", name, at, err)
			}
		}
	}
}
