package order

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/volley-go/volley/device"
)

// Order is the rows of an epoch, position by position. Its methods may be called
// from any goroutine.
type Order interface {
	// Len is how many positions an epoch has. It is the same for all epochs.
	Len() int64
	// Rows is how many rows the data has that the order is over.
	Rows() int64
	// Fill writes the rows at the positions from on into dst; after the last
	// position comes the first again. from must not be negative.
	Fill(dst []int64, epoch, from int64)
	// Hash tells orders apart: it is another for other rows at any position, as
	// far as 32 bits can say.
	Hash() uint32
	// An order that is a fmt.Stringer says by that what it is, for reports.
}

// hash is a sum over the kind of an order and what it was made of.
func hash(kind string, numbers ...uint64) uint32 {
	text := []byte(kind)
	for _, n := range numbers {
		text = binary.LittleEndian.AppendUint64(text, n)
	}
	return crc32.ChecksumIEEE(text)
}

// hashAll is a sum over many numbers.
func hashAll[T int | int64](all []T) uint64 {
	var word [8]byte
	sum := uint32(0)
	for _, n := range all {
		binary.LittleEndian.PutUint64(word[:], uint64(n))
		sum = crc32.Update(sum, crc32.IEEETable, word[:])
	}
	return uint64(sum)
}

func mismatch(format string, args ...any) error {
	return device.Errorf(device.ErrMismatch, "", "order", format, args...)
}

// wrap is a position modulo the length of an epoch.
func wrap(at, n int64) int64 {
	if at >= n {
		return at % n
	}
	return at
}

// sequential is the order of the data.
type sequential int64

// Sequential is n rows in the order of the data.
func Sequential(n int64) Order { return sequential(max(0, n)) }

// Len is the number of rows.
func (s sequential) Len() int64 { return int64(s) }

// Rows is the number of rows.
func (s sequential) Rows() int64 { return int64(s) }

// Hash is that of the length.
func (s sequential) Hash() uint32 { return hash("sequential", uint64(s)) }

// String says what it is.
func (s sequential) String() string { return "that of the data" }

// Fill counts.
func (s sequential) Fill(dst []int64, _, from int64) {
	for i := range dst {
		dst[i] = (from + int64(i)) % int64(s)
	}
}

// shuffled is a Permutation for each epoch.
type shuffled struct {
	n    int64
	seed uint64
}

// Shuffled is every one of n rows once, in another order in each epoch: that of
// a Permutation. It holds nothing.
func Shuffled(n int64, seed uint64) Order { return shuffled{max(0, n), seed} }

// Len is the number of rows.
func (s shuffled) Len() int64 { return s.n }

// Rows is the number of rows.
func (s shuffled) Rows() int64 { return s.n }

// Hash is that of length and seed.
func (s shuffled) Hash() uint32 { return hash("shuffled", uint64(s.n), s.seed) }

// String says what it is.
func (s shuffled) String() string { return "shuffled by rows" }

// Fill computes positions of the epoch's permutation.
func (s shuffled) Fill(dst []int64, epoch, from int64) {
	p := NewPermutation(s.n, s.seed, uint64(epoch))
	p.Fill(dst, from)
}
