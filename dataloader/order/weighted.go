package order

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

// weighted draws rows by an alias table.
type weighted struct {
	n     int64
	seed  uint64
	sum   uint32
	share []float64 // how much of its place a row keeps
	alias []int64   // whose the rest is
}

// Weighted is n rows drawn with replacement, each row with a probability
// proportional to its weight, another draw for each position of each epoch. At
// least one weight must be positive, and none negative or not finite: an
// ErrMismatch that names the row.
//
// A draw is one look into a table of 16 bytes a row (Walker's alias method as
// Vose builds it, "A linear algorithm for generating random numbers with a given
// distribution", 1991), by a number that is computed from the position.
func Weighted(weights []float64, n int64, seed uint64) (Order, error) {
	if n < 0 {
		return nil, mismatch("%d draws", n)
	}
	total := 0.0
	word := make([]byte, 8)
	w := &weighted{n: n, seed: seed, share: make([]float64, len(weights)), alias: make([]int64, len(weights))}
	for i, x := range weights {
		if !(x >= 0) || math.IsInf(x, 1) {
			return nil, mismatch("row %d has the weight %v", i, x)
		}
		total += x
		binary.LittleEndian.PutUint64(word, math.Float64bits(x))
		w.sum = crc32.Update(w.sum, crc32.IEEETable, word)
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return nil, mismatch("the weights of %d rows add up to %v", len(weights), total)
	}
	w.build(weights, total)
	return w, nil
}

// build makes the table: rows with less than their place's share get the rest of
// it from one with more.
func (w *weighted) build(weights []float64, total float64) {
	var small, large []int64
	for i, x := range weights {
		w.share[i], w.alias[i] = x/total*float64(len(weights)), int64(i)
		if w.share[i] < 1 {
			small = append(small, int64(i))
		} else {
			large = append(large, int64(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		w.alias[s] = l
		w.share[l] -= 1 - w.share[s]
		if w.share[l] < 1 {
			large, small = large[:len(large)-1], append(small, l)
		}
	}
	for _, l := range large {
		w.share[l] = 1
	}
	for _, s := range small { // what rounding left over; a row of no weight is not among them unless all others are full
		if weights[s] > 0 {
			w.share[s] = 1
		} else {
			w.share[s], w.alias[s] = 0, heaviest(weights)
		}
	}
}

func heaviest(weights []float64) int64 {
	best := 0
	for i, x := range weights {
		if x > weights[best] {
			best = i
		}
	}
	return int64(best)
}

// Len is the number of draws.
func (w *weighted) Len() int64 { return w.n }

// Rows is the number of weights.
func (w *weighted) Rows() int64 { return int64(len(w.share)) }

// Hash is that of the weights and the seed.
func (w *weighted) Hash() uint32 { return hash("weighted", uint64(w.n), w.seed, uint64(w.sum)) }

// String says what it is.
func (w *weighted) String() string { return fmt.Sprintf("%d rows drawn by weight", w.n) }

// Fill draws.
func (w *weighted) Fill(dst []int64, epoch, from int64) {
	key := mix(w.seed) ^ mix(uint64(epoch)+0x9e3779b97f4a7c15)
	for i := range dst {
		at := uint64(wrap(from+int64(i), w.n))
		x := mix(key + (2*at+1)*0x9e3779b97f4a7c15)
		y := mix(key + (2*at+2)*0x9e3779b97f4a7c15)
		row, _ := bits.Mul64(x, uint64(len(w.share)))
		dst[i] = int64(row)
		if float64(y>>11)*(1.0/(1<<53)) >= w.share[row] {
			dst[i] = w.alias[row]
		}
	}
}
