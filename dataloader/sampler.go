package dataloader

import (
	"fmt"
	"math"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
)

// Remainder is what becomes of the rows of an epoch that fill no whole batch on
// every rank.
type Remainder int

// The ways to end an epoch.
const (
	// Pad shares the rest out equally: all ranks get the same number of batches,
	// and of rows in the last one. At most Size-1 rows of the epoch are given a
	// second time to make the shares equal; a batch says how many.
	Pad Remainder = iota
	// Drop leaves the rest out: all batches are whole, on every rank as many.
	Drop
	// Uneven gives every row once: the last ranks may get a shorter last batch,
	// or none. Training in step must be able to bear that.
	Uneven
)

// Sampler says which rows each batch of each rank has. It is arithmetic and
// holds no rows: any batch of any epoch is found at once, and depends on nothing
// but these fields.
//
// An epoch is an order of all rows. In step k, counted from the position at
// which the epoch is taken up, the ranks together get Batch·Size rows that follow
// each other in the order, and rank r the r-th Batch of them. So the ranks have
// seen a prefix of the order after every step, which any other number of ranks
// can go on from.
type Sampler struct {
	Rows       int64     // positions of an epoch: rows of the data, or what Order says
	Batch      int64     // rows of a batch, at least 1
	Rank, Size int       // this rank of how many
	Shuffle    bool      // in the order of an order.Permutation, else in that of the data
	Seed       uint64    // chooses the permutations
	Remainder  Remainder // how an epoch ends
	// Order, if not nil, is the order, in the place of Shuffle and Seed.
	Order order.Order
}

func (s *Sampler) check() error {
	const call = "dataloader"
	switch {
	case s.Rows < 0:
		return device.Errorf(device.ErrMismatch, "", call, "%d rows", s.Rows)
	case s.Batch < 1:
		return device.Errorf(device.ErrMismatch, "", call, "batches of %d rows: at least 1 is needed", s.Batch)
	case s.Size < 1 || s.Rank < 0 || s.Rank >= s.Size:
		return device.Errorf(device.ErrMismatch, "", call, "rank %d of %d: ranks count from 0, and there is at least one", s.Rank, s.Size)
	case s.Order != nil && s.Order.Len() != s.Rows:
		return device.Errorf(device.ErrMismatch, "", call, "%d positions in an order of %d", s.Rows, s.Order.Len())
	case s.Remainder < Pad || s.Remainder > Uneven:
		return device.Errorf(device.ErrMismatch, "", call, "remainder %d: it is Pad, Drop or Uneven", s.Remainder)
	}
	return nil
}

// orderName says what the order is.
func (s *Sampler) orderName() string {
	o := s.Order
	switch {
	case o == nil && s.Shuffle:
		o = order.Shuffled(s.Rows, s.Seed)
	case o == nil:
		o = order.Sequential(s.Rows)
	}
	if named, ok := o.(fmt.Stringer); ok {
		return named.String()
	}
	return "the program's own"
}

// stride is how many rows a whole step takes on all ranks together.
func (s *Sampler) stride() int64 {
	if s.Batch > math.MaxInt64/4/int64(s.Size) {
		return math.MaxInt64 / 4
	}
	return s.Batch * int64(s.Size)
}

// ceil is a/b rounded up.
func ceil(a, b int64) int64 { return (a + b - 1) / b }

// globalSteps is how many steps an epoch has from a position on: the greatest
// number of batches of any rank.
func (s *Sampler) globalSteps(from int64) int64 {
	rest, g := s.Rows-from, s.stride()
	steps := rest / g
	if s.Remainder != Drop && rest%g > 0 {
		steps++
	}
	return steps
}

// Steps is how many batches this rank gets of an epoch that is taken up at a
// position of the order: 0 for a whole one.
func (s *Sampler) Steps(from int64) int64 {
	steps := s.globalSteps(from)
	if steps > 0 && s.Remainder == Uneven {
		if _, n, _ := s.span(from, steps-1); n == 0 {
			steps--
		}
	}
	return steps
}

// most is how many rows the largest batch has.
func (s *Sampler) most() int64 { return min(s.Batch, ceil(s.Rows, int64(s.Size))) }

// span is where in the order the rows of a step begin, how many there are, and
// how many of them, the last, are given a second time. Positions go beyond Rows
// where rows are repeated: they count modulo Rows.
func (s *Sampler) span(from, step int64) (at, n, padded int64) {
	g := s.stride()
	p := from + step*g
	rest := s.Rows - p
	switch {
	case rest <= 0:
		return p, 0, 0
	case rest >= g:
		return p + int64(s.Rank)*s.Batch, s.Batch, 0
	case s.Remainder == Drop:
		return p, 0, 0
	}
	share := ceil(rest, int64(s.Size))
	at = p + int64(s.Rank)*share
	if s.Remainder == Uneven {
		return at, max(0, min(share, s.Rows-at)), 0
	}
	return at, share, min(share, max(0, at+share-s.Rows))
}

// after is where the order stands when all ranks have done some steps.
func (s *Sampler) after(from, steps int64) int64 { return min(s.Rows, from+steps*s.stride()) }

// Fill writes the rows of a batch into dst, which has room for the largest, and
// returns how many there are, and how many of them, the last, are given a second
// time. The epoch was taken up at the position from; step is counted from there.
func (s *Sampler) Fill(dst []int64, epoch, from, step int64) (n, padded int64) {
	at, n, padded := s.span(from, step)
	dst = dst[:n]
	if s.Order != nil {
		s.Order.Fill(dst, epoch, at)
		return n, padded
	}
	if s.Shuffle {
		p := order.NewPermutation(s.Rows, s.Seed, uint64(epoch))
		p.Fill(dst, at)
		return n, padded
	}
	for row := at % s.Rows; len(dst) > 0; row = 0 {
		run := dst[:min(int64(len(dst)), s.Rows-row)]
		for i := range run {
			run[i] = row + int64(i)
		}
		dst = dst[len(run):]
	}
	return n, padded
}
