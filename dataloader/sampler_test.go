package dataloader

import (
	"errors"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
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

// TestSampler walks all ranks in step through data of many lengths, from any
// position, and holds each way to end an epoch to what it promises.
func TestSampler(t *testing.T) {
	dst := make([]int64, 64)
	for rows := int64(1); rows <= 41; rows++ {
		for _, size := range []int{1, 2, 3, 7} {
			for _, batch := range []int64{1, 3, 8, 64} {
				for _, end := range []Remainder{Pad, Drop, Uneven} {
					for _, from := range []int64{0, rows / 2, rows - 1} {
						seen, padded, steps, last := make([]int, rows), int64(0), make([]int64, size), make([]int64, size)
						for rank := range size {
							s := Sampler{rows, batch, rank, size, true, 5, end}
							steps[rank] = s.Steps(from)
							for k := range steps[rank] {
								n, twice := s.Fill(dst, 2, from, k)
								if n < 1 || n > s.most() || end == Drop && n != batch || end != Pad && twice > 0 {
									t.Fatalf("%+v from %d: batch %d has %d rows, %d twice", s, from, k, n, twice)
								}
								for _, r := range dst[:n-twice] {
									seen[r]++
								}
								padded += twice
								last[rank] = n
							}
						}
						once, order := 0, NewPermutation(rows, 5, 2)
						for i := range rows {
							k := seen[order.At(i)]
							if once += k; k > 1 || i < from && k > 0 || i >= from && k == 0 && end != Drop {
								t.Fatalf("%d rows, %d ranks, batch %d, end %d, from %d: position %d came %d times", rows, size, batch, end, from, i, k)
							}
						}
						slices.Sort(steps)
						slices.Sort(last)
						if end != Uneven && (steps[0] != steps[size-1] || last[0] != last[size-1]) {
							t.Fatalf("%d rows, %d ranks, batch %d, end %d, from %d: batches %v, last of %v rows", rows, size, batch, end, from, steps, last)
						}
						if g := batch * int64(size); padded >= int64(size) || end == Drop && int64(once) != (rows-from)/g*g {
							t.Fatalf("%d rows, %d ranks, batch %d, end %d, from %d: %d once, %d twice", rows, size, batch, end, from, once, padded)
						}
					}
				}
			}
		}
	}
	huge := Sampler{Rows: 10, Batch: 1 << 62, Size: 1 << 20}
	if n := huge.Steps(0); n != 1 || huge.most() != 1 {
		t.Errorf("batches larger than all data: %d, of %d rows", n, huge.most())
	}
}

func TestSamplerRefuses(t *testing.T) {
	for _, s := range []Sampler{
		{Rows: -1, Batch: 1, Size: 1}, {Rows: 1, Size: 1}, {Rows: 1, Batch: 1}, {Rows: 1, Batch: 1, Size: 2, Rank: 2},
		{Rows: 1, Batch: 1, Size: 2, Rank: -1}, {Rows: 1, Batch: 1, Size: 1, Remainder: 3},
	} {
		if err := s.check(); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
