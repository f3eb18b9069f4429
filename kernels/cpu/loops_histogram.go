package cpu

import "unsafe"

// histogramLoops count words by a digit of each. Counters of equal digits wait for each
// other: one that was just written is read back before it is in the cache. So where
// counters are few and words many these are counted in several tables by turns, which
// are added in the end.
//
// In assembly memory is asked for ahead, which is most of what it gains: on Intel with
// AMX and 480 MiB of third-level cache one thread takes 0.9 ns a random word of 64 bits
// from memory for 2048 counters (the loop before 3, the one in Go 1.6) and 1.1 to 1.2
// for 65536, where summing takes 0.5 to 0.6: half to two thirds of the bandwidth of
// reading. From a cache it is 0.4 ns, of 1024 counters, where the store of a counter
// each is the limit, so that AVX-512 has hardly more than AVX2; and 0.8 to 1.5 of 32768
// or more on all tiers, which the second-level cache gives. Beside other work.
type histogramLoops struct {
	u32    func(c counters, words []uint32, d digit) // whose base is 0
	u64    func(c counters, words []uint64, d digit)
	hashes func(c counters, words []uint64, d digit) // by a digit of hashWord(w-base, 0)
	pairs  func(c counters, words []uint64, d digit) // of the first of each two words
}

func goHistogramLoops() histogramLoops {
	return histogramLoops{u32: countWords[uint32], u64: countWords[uint64], hashes: countHashed, pairs: countPairs}
}

// countLoop is the loop for words of a type.
func countLoop[K row](l *histogramLoops) (count func(c counters, words []K, d digit)) {
	switch p := any(&count).(type) {
	case *func(c counters, words []uint32, d digit):
		*p = l.u32
	case *func(c counters, words []uint64, d digit):
		*p = l.u64
	}
	return count
}

// digit is what words are counted by: of a word less base the bits of mask, which is
// below 2^32, from shift on.
type digit struct {
	base  uint64
	shift uint
	mask  uint64
	ahead int // how many bytes ahead of words memory is asked for: 0 where they are in a cache
}

// countAhead is how far ahead words are asked for that come from memory. A core that
// counts has too few of their lines under way by itself.
const countAhead = 2 << 10

const (
	// countTables is how many tables words are counted in where counters are few: as many
	// as additions to one counter take of the time between two of them.
	countTables = 4
	// fewCounters is how many counters that is at most: their tables fit the first-level
	// cache. Of more, those of random words would be waited for.
	fewCounters = 1 << 11
	// countEach is how many words there are to be for each counter, at least, as tables are
	// to be cleared and added.
	countEach = 8
	// tableGap is how many counters lie between two tables, so that equal digits do not
	// have places that differ by a whole page.
	tableGap = 16
)

// counters are one table or several, of n counters each.
type counters struct {
	all   []uint32
	n     int
	apart int // from a table to the next, 0 if there is one
}

// countersRoom is how many counters are needed for n of them and so many words.
func countersRoom(n, words int) int {
	if n <= fewCounters && words >= countEach*n {
		return countTables * (n + tableGap)
	}
	return n
}

// countersOf are the n counters in a room of zeros that countersRoom gave the size of.
func countersOf(room []uint32, n int) counters {
	if len(room) == n {
		return counters{all: room, n: n}
	}
	return counters{room, n, n + tableGap}
}

// at is where the table begins that the words of turn i are counted in.
func (c *counters) at(i int) unsafe.Pointer { return unsafe.Pointer(&c.all[i*c.apart]) }

// addTo adds the counts of all tables to those of sums, which may be the first table.
func addTo[R row](c counters, sums []R) {
	if c.apart == 0 {
		for i, k := range c.all[:len(sums)] {
			sums[i] += R(k)
		}
		return
	}
	n := len(sums)
	second, third, last := c.all[c.apart:][:n], c.all[2*c.apart:][:n], c.all[3*c.apart:][:n]
	for i, k := range c.all[:n] {
		sums[i] += R(k + second[i] + third[i] + last[i])
	}
}

// sumTables brings the sums of the tables of so many chunks, each in a room of its own,
// to the beginning: n counters a chunk.
func sumTables(rooms []uint32, chunks, n int) []uint32 {
	if room := len(rooms) / chunks; room != n {
		for k := range chunks {
			c := countersOf(rooms[k*room:][:room], n)
			second, third, last := c.all[c.apart:][:n], c.all[2*c.apart:][:n], c.all[3*c.apart:][:n]
			to := rooms[k*n:][:n] // before all that is read after it is written
			for i, v := range c.all[:n] {
				to[i] = v + second[i] + third[i] + last[i]
			}
		}
	}
	return rooms[:chunks*n]
}

// count1 adds to the counter i of a table, which has it: a check of each index would be
// as many instructions again.
func count1[K row](table unsafe.Pointer, i K) {
	*(*uint32)(unsafe.Add(table, uintptr(i)*4))++
}

func countWords[K row](c counters, words []K, d digit) {
	if len(words) == 0 {
		return
	}
	first, second, third, last := c.at(0), c.at(1), c.at(2), c.at(3)
	base, shift, mask := K(d.base), d.shift&63, K(d.mask)
	for ; len(words) >= countTables; words = words[countTables:] {
		w := (*[countTables]K)(words)
		count1(first, (w[0]-base)>>shift&mask)
		count1(second, (w[1]-base)>>shift&mask)
		count1(third, (w[2]-base)>>shift&mask)
		count1(last, (w[3]-base)>>shift&mask)
	}
	for _, w := range words {
		count1(first, (w-base)>>shift&mask)
	}
}

func countHashed(c counters, words []uint64, d digit) {
	if len(words) == 0 {
		return
	}
	first, second, third, last := c.at(0), c.at(1), c.at(2), c.at(3)
	base, shift, mask := d.base, d.shift&63, d.mask
	for ; len(words) >= countTables; words = words[countTables:] {
		w := (*[countTables]uint64)(words)
		count1(first, hashWord(w[0]-base, 0)>>shift&mask)
		count1(second, hashWord(w[1]-base, 0)>>shift&mask)
		count1(third, hashWord(w[2]-base, 0)>>shift&mask)
		count1(last, hashWord(w[3]-base, 0)>>shift&mask)
	}
	for _, w := range words {
		count1(first, hashWord(w-base, 0)>>shift&mask)
	}
}

func countPairs(c counters, words []uint64, d digit) {
	if len(words) == 0 {
		return
	}
	first, second, third, last := c.at(0), c.at(1), c.at(2), c.at(3)
	base, shift, mask := d.base, d.shift&63, d.mask
	for ; len(words) >= 2*countTables; words = words[2*countTables:] {
		w := (*[2 * countTables]uint64)(words)
		count1(first, (w[0]-base)>>shift&mask)
		count1(second, (w[2]-base)>>shift&mask)
		count1(third, (w[4]-base)>>shift&mask)
		count1(last, (w[6]-base)>>shift&mask)
	}
	for i := 0; i < len(words); i += 2 {
		count1(first, (words[i]-base)>>shift&mask)
	}
}
