package dataloader

import (
	"errors"
	"slices"
	"testing"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
)

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
							s := Sampler{rows, batch, rank, size, true, 5, end, nil}
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
						once, shuffled := 0, order.NewPermutation(rows, 5, 2)
						for i := range rows {
							k := seen[shuffled.At(i)]
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
