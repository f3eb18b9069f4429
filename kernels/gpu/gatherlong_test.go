package gpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// runLengths are lengths of texts and lists that meet the chunks of the kernels
// in every way; -1 stands for a null.
var runLengths = map[string]func(r *rand.Rand, i int) int{
	"none": func(*rand.Rand, int) int { return 0 },
	"short": func(r *rand.Rand, _ int) int {
		return r.IntN(12) - 1
	},
	"long among empty": func(_ *rand.Rand, i int) int { // one run is several chunks, and a chunk has more runs than RUNS
		return map[int]int{0: 8192, 1: 1, 3500: 50_001, 3501: 3, 6999: 8191}[i]
	},
	"long": func(r *rand.Rand, i int) int {
		if i >= 60 {
			return -1
		}
		return r.IntN(10_000)
	},
}

func runScalars(t arrow.DataType, length func(*rand.Rand, int) int, n int) []kernels.Scalar {
	r := rand.New(rand.NewPCG(7, 7))
	values := make([]kernels.Scalar, n)
	for i := range values {
		size := length(r, i)
		if size < 0 {
			values[i] = kernels.Null(t)
			continue
		}
		if kernels.BinaryTypes.Has(t.ID()) {
			values[i] = kernels.Text(t, strings.Repeat(fmt.Sprintf("%d,", i), size)[:size])
			continue
		}
		items := make([]kernels.Scalar, size)
		for k := range items {
			items[k] = kernels.Int(arrow.PrimitiveTypes.Int16, int64(i+k))
		}
		values[i] = kernels.Nested(t, items)
	}
	return values
}

// Filter, Take and Concat of texts and lists, short and long.
func TestRuns(t *testing.T) {
	types := []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.ListOf(arrow.PrimitiveTypes.Int16), arrow.LargeListOf(arrow.PrimitiveTypes.Int16),
	}
	onDevices(t, func(t *testing.T, c *call) {
		for name, length := range runLengths {
			for _, typ := range types {
				t.Run(fmt.Sprint(name, " ", typ), func(t *testing.T) { testRuns(t, c, runScalars(typ, length, 7000)) })
			}
		}
	})
}

func testRuns(t *testing.T, c *call, values []kernels.Scalar) {
	typ, r := values[0].Type(), rand.New(rand.NewPCG(1, 2))
	mask, indices := make([]kernels.Scalar, len(values)), make([]kernels.Scalar, 5000)
	var kept, taken []kernels.Scalar
	for i := range mask {
		if mask[i] = kernels.Bool(r.IntN(3) > 0); mask[i].Bool() {
			kept = append(kept, values[i])
		}
	}
	long := 0
	for i := range indices {
		k := r.IntN(len(values))
		if size := len(values[k].Text()) + len(values[k].Items()); size > 1000 {
			if long++; long > 50 {
				k = 2
			}
		}
		indices[i] = kernels.Int(arrow.PrimitiveTypes.Uint64, int64(k))
		taken = append(taken, values[k])
	}
	col := onDevice(t, c, typ, values)
	filtered, err := c.e.filter(c.ctx, c.s, col, onDevice(t, c, arrow.FixedWidthTypes.Boolean, mask), kernels.FilterOptions{})
	holds(t, c, filtered, err, kept)
	for _, trusted := range []bool{false, true} { // by row numbers of 32 bits, and by the indices as they are
		rows := onDevice(t, c, arrow.PrimitiveTypes.Uint64, indices)
		got, err := c.e.take(c.ctx, c.s, col, rows, kernels.TakeOptions{Trusted: trusted})
		holds(t, c, got, err, taken)
	}
	window, err := col.Slice(3400, 200)
	if err != nil {
		t.Fatal(err)
	}
	defer window.Release()
	joined, err := c.e.concat(c.ctx, c.s, []*memory.Column{window, col, window})
	holds(t, c, joined, err, append(append(values[3400:3600:3600], values...), values[3400:3600]...))
}

func onDevice(t *testing.T, c *call, typ arrow.DataType, values []kernels.Scalar) *memory.Column {
	t.Helper()
	host, err := kernels.FromScalars(memory.Heap, typ, values)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Release()
	col, err := device.Move(context.Background(), c.s, c.s.Device().Memory(), host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(col.Release)
	return col
}

// holds compares what a kernel gave with what it should give.
func holds(t *testing.T, c *call, col *memory.Column, err error, want []kernels.Scalar) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer col.Release()
	host, err := device.Move(context.Background(), c.s, memory.Heap, col)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Release()
	if err := host.Validate(); err != nil {
		t.Error(err)
	}
	got := kernels.Scalars(host)
	if len(got) != len(want) {
		t.Fatalf("%d rows, not %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Valid() != want[i].Valid() || got[i].Text() != want[i].Text() || got[i].Uint64() != want[i].Uint64() || !slices.Equal(ints(got[i]), ints(want[i])) {
			t.Fatalf("row %d differs", i)
		}
	}
}

func ints(v kernels.Scalar) []int64 {
	var all []int64
	for _, item := range v.Items() {
		all = append(all, item.Int64())
	}
	return all
}
