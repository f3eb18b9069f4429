package dataloader

import (
	"math"
	"math/bits"

	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

const (
	// A round has leastLegs to mostLegs legs. Of more legs more groups are open at a time,
	// (legs)/(legs/2+1.5) of what the memory has room for, and there is more to keep of them.
	leastLegs = 8
	mostLegs  = 24
	// thinnest is how many rounds over the table an epoch may take. Of more, rows that are
	// sorted batch by batch and asked for ahead are had sooner.
	thinnest = 32
	// A unit has 1<<leastUnit rows at least and 1<<mostUnit at most, and a leg unitsOfLeg
	// units where the table has rows for them.
	leastUnit, mostUnit = 6, 15
	unitsOfLeg          = 8
	// blockPlaces is how many places a group takes at a time: a power of two.
	blockPlaces, blockShift = 16, 4
)

// groupSize is how a table is read in groups.
type groupSize struct {
	batches int64 // of a group
	legs    int64 // of a round
	rows    int64 // of a group at most
	shift   uint  // a unit has 1<<shift rows
	units   int64
	blocks  int64 // of places, for all groups together
	readers int   // goroutines
}

// groupSizeOf finds the largest groups that together take spare bytes at most, for a
// table of rows of width bytes in batches of most rows. It reports false where they are
// too small to be worth reading the table for.
func groupSizeOf(rows, width, most, spare int64) (best groupSize, ok bool) {
	if rows > math.MaxUint32 {
		return best, false
	}
	for legs := int64(leastLegs); legs <= mostLegs; legs++ {
		s := groupSize{legs: legs, readers: processors.Count()}
		for s.shift = mostUnit; s.shift > leastUnit && rows>>s.shift < unitsOfLeg*legs; s.shift-- {
		}
		s.units = ceil(rows, 1<<s.shift)
		// More batches take more memory: the most that have room are looked for.
		bit := int64(1) << max(0, bits.Len64(uint64(max(0, spare/most/width)))-1)
		for ; bit > 0; bit >>= 1 {
			try := s
			try.batches += bit
			try.rows = try.batches * most
			if try.blocks = try.least(); try.bytes(width) <= spare {
				s = try
			}
		}
		if s.batches > 0 && s.open() > best.open() {
			best = s
		}
	}
	return best, best.batches > 0 && best.open() >= rows/thinnest
}

// open is how many rows' groups are open at a time.
func (s *groupSize) open() int64 { return s.legs * s.rows }

// slots is how many groups there are: those that are open, one that batches are made of,
// and one that opens next.
func (s *groupSize) slots() int64 { return s.legs + 2 }

// least is how many blocks groups take whose rows come at random: on average half of
// those that are open, and the group that batches are made of.
func (s *groupSize) least() int64 {
	places := s.rows*(s.legs+1)/2 + s.rows
	places += 2 * int64(math.Sqrt(float64(s.open()))) // which rows do not come as evenly
	return places>>blockShift + s.legs + 3
}

// blocksOf is how many blocks so many rows take.
func blocksOf(rows int64) int64 { return (rows + blockPlaces - 1) >> blockShift }

// places is how many places there are: those of blocks, and one apart for who reads.
func (s *groupSize) places() int64 { return s.blocks*blockPlaces + int64(s.readers) }

// bytes is how much memory that takes with rows of width bytes laid out.
func (s *groupSize) bytes(width int64) int64 {
	return s.places()*width + s.listBytes() + int64(s.readers)*4<<s.shift
}

// listBytes is the size of the groups' lists together.
func (s *groupSize) listBytes() int64 {
	return s.slots() * (memory.Padded(2*s.rows) + memory.Padded(4*s.rows) + memory.Padded(4*(s.units+1)) + memory.Padded(4*blocksOf(s.rows)))
}
