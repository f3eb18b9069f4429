package order

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
)

func must(t testing.TB) func(Order, error) Order {
	return func(o Order, err error) Order {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
}

// every is one order of each kind over n rows.
func every(t testing.TB, n int64) map[string]Order {
	var sizes, class []int64
	weights := make([]float64, n)
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for rest := n; rest > 0; {
		size := min(rest, 1+random.Int64N(50))
		sizes, rest = append(sizes, size), rest-size
	}
	for i := range weights {
		weights[i] = float64(i % 3)
		class = append(class, random.Int64N(5)*random.Int64N(5))
	}
	weights[0] = 1
	return map[string]Order{
		"sequential": Sequential(n),
		"shuffled":   Shuffled(n, 7),
		"blocks":     must(t)(Blocks(sizes, 100, 7)),
		"one block":  must(t)(Blocks(sizes, 1, 7)),
		"all":        must(t)(Blocks(sizes, n, 7)),
		"buffered":   must(t)(Buffered(sizes, 100, 7)),
		"weighted":   must(t)(Weighted(weights, n, 7)),
		"stratified": Stratified(class, 7),
		"grouped":    Grouped(class, 7),
	}
}

// TestOrders holds every order to be the same however it is asked for, to have
// every row once, unless rows are drawn, and to change with the epoch.
func TestOrders(t *testing.T) {
	hashes := map[uint32]string{}
	for _, n := range []int64{1, 2, 9, 1000} {
		for name, o := range every(t, n) {
			if o.Len() != n || o.Rows() != n {
				t.Fatalf("%s: %d positions of %d rows, not %d", name, o.Len(), o.Rows(), n)
			}
			if other, ok := hashes[o.Hash()]; ok && n == 1000 {
				t.Errorf("%s and %s have one hash", name, other)
			}
			if n == 1000 {
				hashes[o.Hash()] = name
			}
			all, other := make([]int64, n), make([]int64, n)
			o.Fill(all, 3, 0)
			o.Fill(other, 4, 0)
			if name != "sequential" && n == 1000 && slices.Equal(all, other) {
				t.Errorf("%s: two epochs are the same", name)
			}
			for from := int64(0); from < n; from += 1 + n/37 {
				for _, k := range []int64{1, 7, n} {
					some := make([]int64, k)
					o.Fill(some, 3, from)
					for i, r := range some {
						if r != all[(from+int64(i))%n] {
							t.Fatalf("%s: position %d of %d is %d, and %d by itself", name, from+int64(i), n, all[(from+int64(i))%n], r)
						}
					}
				}
			}
			if name == "weighted" {
				continue
			}
			slices.Sort(all)
			for i, r := range all {
				if r != int64(i) {
					t.Fatalf("%s: row %d of %d is %d", name, i, n, r)
				}
			}
		}
	}
	for name, o := range map[string]Order{"sequential": Sequential(0), "blocks": must(t)(Blocks(nil, 1, 0)), "stratified": Stratified(nil, 0), "grouped": Grouped(nil, 0)} {
		if o.Fill(nil, 0, 0); o.Len() != 0 {
			t.Errorf("%s of nothing has %d", name, o.Len())
		}
	}
}

// TestBlocksStayInTheBuffer looks at how far apart the rows of a block come.
func TestBlocksStayInTheBuffer(t *testing.T) {
	sizes := slices.Repeat([]int64{10}, 50)
	for _, c := range []struct {
		o     Order
		fixed bool
	}{{must(t)(Blocks(sizes, 40, 3)), false}, {must(t)(Buffered(sizes, 40, 3)), true}} {
		all := make([]int64, 500)
		c.o.Fill(all, 0, 0)
		moved := false
		for w := 0; w < 500; w += 40 {
			in := map[int64]int{}
			for _, r := range all[w:min(w+40, 500)] {
				in[r/10]++
				moved = moved || r/40 != int64(w/40)
			}
			for b, k := range in {
				if k != 10 {
					t.Errorf("%d rows of block %d in a window", k, b)
				}
			}
		}
		if moved == c.fixed {
			t.Errorf("blocks moved: %v", moved)
		}
	}
}

// TestWeighted compares how often rows are drawn with their weights.
func TestWeighted(t *testing.T) {
	weights := []float64{0, 1, 2, 3, 0, 10, 0.5}
	o := must(t)(Weighted(weights, 165_000, 1))
	all, counts := make([]int64, o.Len()), make([]float64, len(weights))
	o.Fill(all, 0, 0)
	for _, r := range all {
		counts[r]++
	}
	chi := 0.0
	for i, w := range weights {
		want := 10_000 * w
		if w == 0 && counts[i] > 0 {
			t.Errorf("row %d has no weight and came %v times", i, counts[i])
		}
		if w > 0 {
			chi += (counts[i] - want) * (counts[i] - want) / want
		}
	}
	if chi > 30 { // four degrees of freedom
		t.Errorf("χ² is %v: %v", chi, counts)
	}
	for _, bad := range [][]float64{nil, {0, 0}, {1, -1}, {math.NaN()}, {math.Inf(1)}, {math.MaxFloat64, math.MaxFloat64}} {
		if _, err := Weighted(bad, 1, 0); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := Weighted(weights, -1, 0); !errors.Is(err, device.ErrMismatch) {
		t.Error(err)
	}
}

// TestStratified counts classes in every stretch of some lengths.
func TestStratified(t *testing.T) {
	const n = 3000
	class, sizes := make([]int64, n), map[int64]float64{}
	for i := range class {
		class[i] = int64(math.Sqrt(float64(i))) / 8
		sizes[class[i]]++
	}
	o, all := Stratified(class, 5), make([]int64, n)
	o.Fill(all, 1, 0)
	for _, k := range []int{10, 64, 1000} {
		for at := 0; at+k <= n; at += 11 {
			counts := map[int64]float64{}
			for _, r := range all[at : at+k] {
				counts[class[r]]++
			}
			for c, size := range sizes {
				if want := size * float64(k) / n; math.Abs(counts[c]-want) > 2 {
					t.Fatalf("class %d comes %v times in [%d, %d), not about %.1f", c, counts[c], at, at+k, want)
				}
			}
		}
	}
}

// TestGrouped holds groups together.
func TestGrouped(t *testing.T) {
	group := []int64{5, 1, 5, 2, 1, 5, 9}
	all := make([]int64, len(group))
	Grouped(group, 5).Fill(all, 1, 0)
	ended := map[int64]bool{}
	for i := 1; i < len(all); i++ {
		if a, b := group[all[i-1]], group[all[i]]; a != b {
			ended[a] = true
			if ended[b] {
				t.Errorf("group %d comes twice: %v", b, all)
			}
		} else if all[i] < all[i-1] {
			t.Errorf("the rows of a group are not in order: %v", all)
		}
	}
}

func TestBlocksRefuse(t *testing.T) {
	for _, err := range []error{second(Blocks([]int64{1}, 0, 0)), second(Blocks([]int64{1, 0}, 1, 0)), second(Buffered([]int64{-1}, 1, 0))} {
		if !errors.Is(err, device.ErrMismatch) {
			t.Error(err)
		}
	}
}

func second(_ Order, err error) error { return err }
