package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/volley-go/volley/device"
)

// Where workers are few and a core's second-level cache is large, hashes are not cut
// into parts. Each worker has the table of a range of hashes, goes over all rows, and
// keeps the records of those in its range only until they are added: a batch of them
// is in the first-level cache. Keys and values are moved once for each range, and
// records not at all; what is left is one access to a table of some MiB for each row,
// which the second- and third-level caches answer, several at a time. Sums are those
// of parts, each in the order of rows, and so do not depend on the way taken.
//
// 1e7 rows of 1e5 keys took two workers (Intel, AVX-512, 2 MiB of second-level cache)
// 43 ms, by parts 65. The same steps in C take 33; reading the rows twice, 32 bytes a
// row, 12 to 16 at 20 to 26 GB/s: accesses to the tables are what bounds it.

// mostSieves (the logarithm) is how many ranges there are at most: each of more
// workers would read all rows, which takes more than cutting them once.
const mostSieves = 1

// mostSieved is how many slots a worker's table may have at first that is not cut into
// parts: 6 MiB of them. It may come to have twice as many. Tests have less.
var mostSieved = 1 << 18

// sieves is the logarithm of how many ranges have tables of their own for a guess of
// groups, by the number of workers; false where hashes are cut into parts.
func (t *tallying[S]) sieves(guess int64) (skip uint, ok bool) {
	skip = uint(bits.Len(uint(workers()))) - 1
	if !t.l.sieve.quick || t.valid != nil || skip > mostSieves || !largeL2 || slotsFor(guess>>skip*9/8) > mostSieved {
		return 0, false
	}
	return skip, true
}

// hashRanges tallies ranges of hashes, 1<<skip of them. It gives up with errFull
// where a table becomes larger than one may be, and holds nothing then.
func (t *tallying[S]) hashRanges(guess int64, skip uint) error {
	tables := make([]tallyTable[S], 1<<skip)
	err := tasks(t.ctx, len(tables), func(_, part int) error {
		if err := tables[part].reset(t.a, slotsFor(guess>>skip*9/8)); err != nil {
			return err
		}
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		if b.sieved == nil {
			b.sieved = new(sieveRows)
		}
		return t.foldRange(&tables[part], b, skip, uint64(part))
	})
	if err != nil {
		for i := range tables {
			t.a.drop(tables[i].slots.b)
			t.a.drop(tables[i].firsts.b)
		}
		return err
	}
	return t.putTables(tables, skip, 0)
}

// foldRange adds the rows whose hashes begin with the skip bits of part to its table.
func (t *tallying[S]) foldRange(h *tallyTable[S], b *tallyBatch[S], skip uint, part uint64) error {
	for k, from := 1, int64(0); from < t.n; k++ {
		if k%64 == 0 {
			if err := device.Canceled(t.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		n := int(min(batchRows, t.n-from))
		words, sums, _ := t.load(b, from, n)
		from += int64(n)
		kept := t.l.sieve.sieve(b.sieved, words, bitsOf(sums), t.base, skip, part)
		if err := t.foldPart(h, b.sieved.records[:kept], skip, 0); err != nil {
			return err
		}
		if t.firsts {
			h.rowsOfFirsts(b.sieved, t.numbers(b))
		}
		if len(h.slots.s) > 2*mostSieved {
			return errFull
		}
	}
	return nil
}

// rowsOfFirsts puts the rows of new groups' first records, which are those of marks in
// their order, in the place of the records' places.
func (h *tallyTable[S]) rowsOfFirsts(from *sieveRows, rows []uint32) {
	before, i := 0, 0
	w, n := from.marks[0], bits.OnesCount64(from.marks[0])
	for k, at := range h.firsts.s[h.known:h.used] {
		for int(at) >= before+n {
			before += n
			i++
			w = from.marks[i]
			n = bits.OnesCount64(w)
		}
		v := w
		for range int(at) - before {
			v &= v - 1
		}
		h.firsts.s[h.known+k] = rows[64*i+bits.TrailingZeros64(v)]
	}
	h.known = h.used
}

// recordWords are the words of records, two of each.
func recordWords(records []tallyRecord) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(records))), 2*len(records))
}
