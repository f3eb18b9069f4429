package order

import (
	"slices"
	"testing"
)

// TestPermutation holds orders of every small length, and of lengths about powers
// of two, to be permutations, other for another seed and epoch.
func TestPermutation(t *testing.T) {
	var lengths []int64
	for n := int64(0); n <= 70; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range append(lengths, 255, 256, 257, 4095, 4097, 100_003) {
		p := NewPermutation(n, 7, 3)
		seen, all := make([]bool, n), make([]int64, n)
		p.Fill(all, 0)
		for i, x := range all {
			if x < 0 || x >= n || seen[x] {
				t.Fatalf("of %d numbers, position %d is %d", n, i, x)
			}
			seen[x] = true
			if p.At(int64(i)) != x {
				t.Fatalf("of %d numbers, At(%d) is not %d", n, i, x)
			}
		}
		if n < 16 {
			continue
		}
		for _, q := range []Permutation{NewPermutation(n, 8, 3), NewPermutation(n, 7, 4)} {
			other := make([]int64, n)
			if q.Fill(other, 0); slices.Equal(all, other) {
				t.Errorf("of %d numbers, another seed or epoch has the same order", n)
			}
		}
	}
}

// TestPermutationIsEven counts how often each number comes at each position, over
// many seeds, by a χ² test.
func TestPermutationIsEven(t *testing.T) {
	for _, c := range []struct {
		n     int64
		bound float64 // mean (n-1)², plus six deviations of √2(n-1)
	}{{3, 21}, {5, 50}, {10, 157}, {16, 352}, {37, 1601}} {
		const seeds = 20_000
		counts := make([]int, c.n*c.n)
		for seed := range uint64(seeds) {
			p := NewPermutation(c.n, seed, 0)
			for i := range c.n {
				counts[i*c.n+p.At(i)]++
			}
		}
		chi, want := 0.0, seeds/float64(c.n)
		for _, k := range counts {
			chi += (float64(k) - want) * (float64(k) - want) / want
		}
		if chi > c.bound {
			t.Errorf("of %d numbers χ² is %.0f, more than %.0f", c.n, chi, c.bound)
		}
	}
}

// TestPermutationScatters looks at neighbours: the steps from number to number
// of a random order of n are n/3 long on average.
func TestPermutationScatters(t *testing.T) {
	const n = 1 << 16
	p, sum, kept := NewPermutation(n, 1, 0), 0.0, 0
	for i := range int64(n - 1) {
		d := p.At(i+1) - p.At(i)
		if d == 1 {
			kept++
		}
		sum += float64(max(d, -d))
	}
	if mean := sum / (n - 1); mean < 0.32*n || mean > 0.345*n || kept > 10 {
		t.Errorf("steps are %.0f long on average, %d are 1", mean, kept)
	}
}

// TestFillIsAt holds Fill, in vectors and not, to At: at all lengths about a vector's and
// a block's, from all places, around the end, for orders of every width.
func TestFillIsAt(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 17, 1000, 1 << 16, 1<<16 + 1, 1_000_000, 1<<31 + 12_345, 1<<40 + 7, 1<<62 + 1, 1<<63 - 1} {
		p := NewPermutation(n, uint64(n)*3, 5)
		for _, length := range []int{0, 1, step - 1, step, step + 1, 3*step + 5, together - 1, together, together + 1, 3*together + step + 3} {
			for _, from := range []int64{0, n / 3, n - 1} {
				got := make([]int64, length)
				p.Fill(got, from)
				for i, x := range got {
					if at := int64((uint64(from) + uint64(i)) % uint64(n)); x != p.At(at) {
						t.Fatalf("of %d numbers, %d from %d: position %d is %d and not %d", n, length, from, i, x, p.At(at))
					}
				}
			}
		}
	}
}
