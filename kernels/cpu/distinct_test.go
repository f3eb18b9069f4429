package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Distinct values are counted right whichever way they are: few bits, many bits
// that are 0, all equal, close to one another or far apart, with and without
// nulls, texts and decimals.
func TestDistinctWays(t *testing.T) {
	b, err := New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(testSeed, 43))
	p := arrow.PrimitiveTypes
	decimals := &arrow.Decimal128Type{Precision: 38, Scale: 2}
	values := []struct {
		name string
		t    arrow.DataType
		of   func(i int) kernels.Scalar
	}{
		{"dense", p.Int64, func(i int) kernels.Scalar { return kernels.Int64(int64(i * 7919 % 5003)) }},
		{"one", p.Int64, func(int) kernels.Scalar { return kernels.Int64(-3) }},
		{"int8", p.Int8, func(i int) kernels.Scalar { return kernels.Int(p.Int8, int64(int8(i*7))) }},
		{"far apart", p.Int64, func(int) kernels.Scalar { return kernels.Int64(int64(r.Uint64())) }},
		{"all of int64", p.Int64, func(i int) kernels.Scalar {
			return kernels.Int64([]int64{math.MinInt64, math.MaxInt64, 0, -1, int64(i) << 40}[i%5])
		}},
		{"steps", p.Int64, func(i int) kernels.Scalar { return kernels.Int64(int64(i/3) << 32) }},
		{"one value mostly", p.Int64, func(i int) kernels.Scalar {
			if i%50 != 0 {
				return kernels.Int64(1)
			}
			return kernels.Int64(int64(r.Uint64()))
		}},
		{"float64", p.Float64, func(i int) kernels.Scalar {
			if i%3 == 0 {
				return kernels.Float64([]float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), -math.NaN()}[i%5])
			}
			return kernels.Float64(r.NormFloat64())
		}},
		{"NaN alone", p.Float64, func(int) kernels.Scalar { return kernels.Float64(math.NaN()) }},
		{"bool", arrow.FixedWidthTypes.Boolean, func(i int) kernels.Scalar { return kernels.Bool(i%3 == 0) }},
		{"text", arrow.BinaryTypes.String, func(i int) kernels.Scalar { return kernels.String(fmt.Sprint("a long text of ", i%3001)) }},
		{"decimal", decimals, func(i int) kernels.Scalar { return kernels.Int64(int64(i % 77)).As(decimals) }},
	}
	for _, v := range values {
		for _, n := range []int{1, 100, 5*morsel + 77} {
			for _, every := range []int{0, 2, 97} {
				made, seen := make([]kernels.Scalar, n), map[string]bool{}
				for i := range made {
					if made[i] = v.of(i); every > 0 && i%every == 1 {
						made[i] = kernels.Null(v.t)
						continue
					}
					text := fmt.Sprint(made[i])
					if made[i].Type().ID() == arrow.FLOAT64 {
						text = fmt.Sprint(made[i].Float64() + 0)
					}
					seen[text] = true
				}
				c := makeColumn(t, v.t, n, func(i int) kernels.Scalar { return made[i] })
				got, err := b.Reduce(context.Background(), s, kernels.CountDistinct, c, kernels.AggregateOptions{})
				if err != nil {
					t.Fatal(v.name, n, every, err)
				}
				if g := kernels.ScalarAt(got, 0).Int64(); g != int64(len(seen)) {
					t.Errorf("%s, %d rows, a null every %d: %d, not %d", v.name, n, every, g, len(seen))
				}
				got.Release()
				c.Release()
			}
		}
	}
}

// A count of distinct values ends with its context, and gives all memory back.
func TestDistinctCanceled(t *testing.T) {
	b, err := New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wide := make([]int64, 3*morsel)
	for i := range wide {
		wide[i] = int64(uint64(i) * hashFactor)
	}
	c := fixedColumn(t, arrow.PrimitiveTypes.Int64, wide)
	defer c.Release()
	if _, err := b.Reduce(ctx, s, kernels.CountDistinct, c, kernels.AggregateOptions{}); !errors.Is(err, context.Canceled) && !errors.Is(err, device.ErrCanceled) {
		t.Errorf("of a canceled context: %v", err)
	}
	a := newArena(s)
	defer a.free()
	h := &wordSet{arena: a}
	if err := h.reset(); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(wide); from += partWords {
		if err := h.add(memory.Values[uint64](c)[from:min(from+partWords, len(wide))]); err != nil {
			t.Fatal(err)
		}
	}
	if h.used != len(wide) {
		t.Errorf("a set of %d words has %d", len(wide), h.used)
	}
}
