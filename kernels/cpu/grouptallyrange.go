package cpu

import (
	"math/bits"

	"github.com/volley-go/volley/device"
)

// densePlacesOf is how many places a part's array has: 1 MiB at most, about a
// second-level cache, and half as many where records go by way of lines, to which a
// place more to write to costs little. Where parts would be more than are written at
// once they have up to twice as many: a core has several misses of that cache under
// way, and takes less time for them than a second turn for reading the rows again.
const densePlacesOf = 1 << 16

// mostTurnParts (the logarithm) is how many parts rows are written to at once, twice as
// many by way of lines. With 4096 of them by plain stores, among ten times the rows, a
// row took nearly four times as long as with 512. Tests have fewer.
var mostTurnParts uint = 10

// denseCut is the logarithms of how many parts a range is cut into, and of how many are
// written at once.
func (t *tallying[S]) denseCut(card uint64) (shift, turn uint) {
	places, most := uint64(densePlacesOf), mostTurnParts
	if from := t.l.lines.from; from > 0 && t.n >= int64(from) {
		places, most = places/2, most+1
	}
	if shift = uint(bits.Len64((card - 1) / places)); shift == most+1 {
		shift--
	}
	return shift, min(shift, most)
}

// denseParts cuts a large range by low bits, so that keys that are close, and
// often equally frequent, come to different parts. Where parts are many, some are
// done in each turn, which reads the rows again and keeps the records of its parts
// alone. It moves the keys once, keys and values in every turn, the records twice,
// and the results.
func (t *tallying[S]) denseParts(card uint64) error {
	shift, turn := t.denseCut(card)
	p := &tallyParts[S]{tallying: t, parts: 1 << shift, low: 1<<shift - 1, turn: turn}
	if err := p.count(0, t.n); err != nil {
		return err
	}
	places := int((card-1)>>shift) + 1
	// A part has no more groups than rows or places. Where all have as many, each
	// writes its groups where they belong.
	rooms := make([]int, p.parts+1)
	for part, n := range p.sizes {
		rooms[part+1] = rooms[part] + min(n, places)
	}
	var cut *firstCut[S]
	var lists []vec[tallySlot[S]]
	var err error
	switch {
	case !t.firsts:
		err = t.out.start(rooms[p.parts])
	case rooms[p.parts] <= int(t.n/4):
		lists = make([]vec[tallySlot[S]], p.parts)
	default:
		cut, err = newFirstCut(t)
	}
	if err != nil {
		return err
	}
	found := make([]int, p.parts)
	arrays := perWorker[vec[tally[S]]]{make: func() (vec[tally[S]], error) { return zeroVec[tally[S]](t.a, places) }}
	for first := 0; first < p.parts; first += 1 << p.turn {
		if err := p.write(0, t.n, first, first+1<<p.turn); err != nil {
			return err
		}
		err := tasks(t.ctx, 1<<p.turn, func(worker, i int) error {
			part := first + i
			array, err := arrays.of(worker)
			if err != nil {
				return err
			}
			clear(array.s)
			if err := t.foldDensePart(array.s, p.of(part), shift); err != nil {
				return err
			}
			switch {
			case cut != nil:
				err = cut.add(worker, array.s)
			case lists != nil:
				lists[part], err = listOf(t.a, array.s, 0)
				for k := range lists[part].s {
					s := &lists[part].s[k]
					s.word = s.word<<(shift&63) | uint64(part)
				}
			default:
				b, _ := t.rooms.get()
				defer t.rooms.put(b)
				found[part] = t.out.putDense(b, rooms[part], array.s, 0, shift, uint64(part)) - rooms[part]
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, array := range arrays.all {
		t.a.drop(array.b)
	}
	p.free()
	switch {
	case cut != nil:
		cut.end()
		return cut.put()
	case lists != nil:
		return t.putLists(lists)
	}
	return t.out.close(t.ctx, rooms, found)
}

// foldDensePart adds the records of a part to its array.
func (t *tallying[S]) foldDensePart(array []tally[S], records []tallyRecord, shift uint) error {
	for k := 0; len(records) > 0; k++ {
		if k%16 == 15 {
			if err := device.Canceled(t.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		n := min(1<<14, len(records))
		fits := false
		if t.firsts {
			fits = foldFirstRecords(array, records[:n], shift)
		} else {
			fits = foldRecords(array, records[:n], shift)
		}
		if !fits {
			return errRange
		}
		records = records[n:]
	}
	return nil
}

// foldRecords adds records to the tallies at the bits above the low ones that
// all of a part share.
func foldRecords[S float64 | int64](array []tally[S], records []tallyRecord, shift uint) bool {
	for i := range records {
		r := &records[i]
		w := r.word &^ noValue >> (shift & 63)
		if w >= uint64(len(array)) {
			return false
		}
		at := &array[w]
		at.sum += valueOf[S](r.value)
		at.counts += oneRow + ^r.word>>63<<32
	}
	return true
}

// foldFirstRecords is foldRecords where first rows are wanted: they are in the
// records, above words of 32 bits.
func foldFirstRecords[S float64 | int64](array []tally[S], records []tallyRecord, shift uint) bool {
	for i := range records {
		r := &records[i]
		w := uint64(uint32(r.word)) >> (shift & 63)
		if w >= uint64(len(array)) {
			return false
		}
		at := &array[w]
		at.sum += valueOf[S](r.value)
		first, counts := r.word>>32<<32, at.counts
		if counts != 0 {
			first = 0
		}
		at.counts = counts + first + oneRow
	}
	return true
}
