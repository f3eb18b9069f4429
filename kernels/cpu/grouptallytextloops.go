package cpu

import "unsafe"

// The loops that each row with a short text goes through. As those of spread keys
// (grouptallyloops.go) they take addresses instead of indices.

// textSlotBytes is the size of a slot: two of them are a line of the caches.
const textSlotBytes = uint64(unsafe.Sizeof(textSlot[int64]{}))

// slotOfText is where the k-th look goes of a search that begins at slot i: to both
// slots of a line, then to both of the next one. Slot after slot, by calculation, a
// seventh of the looks in a table two fifths full would go to a line that nobody has
// asked for ahead.
func slotOfText(i, k uint64) uint64 { return i ^ k&1 + k&^1 }

// lookTexts puts into heads the slots where texts are, or the second of a search.
func lookTexts[S float64 | int64](slots []textSlot[S], texts [][2]uint64, hashes []uint64, heads *[tallyStep]uint32, shift uint) {
	first, mask := unsafe.Pointer(unsafe.SliceData(slots)), uint64(len(slots)-1)
	hashes, to := hashes[:len(texts)], heads[:len(texts)]
	for j := range texts {
		i := hashes[j] >> (shift & 63) & mask
		s := (*[2]uint64)(unsafe.Add(first, i*textSlotBytes))
		to[j] = uint32(i ^ differs(s[0]^texts[j][0]|s[1]^texts[j][1], 0))
	}
}

// addTexts adds rows from j on to the slots in heads, each with inc or, where there
// are such, with its own of incs, and stops at one whose slot has another text.
func addTexts[S float64 | int64](slots []textSlot[S], texts [][2]uint64, heads *[tallyStep]uint32, sums []S, incs []uint64, inc uint64, j int) int {
	first, to := unsafe.Pointer(unsafe.SliceData(slots)), heads[:len(texts)]
	sums = sums[:len(to)]
	if incs == nil {
		for ; uint(j) < uint(len(to)); j++ {
			w, s := &texts[j], (*textSlot[S])(unsafe.Add(first, uint64(to[j])*textSlotBytes))
			if s.low != w[0] || s.high != w[1] || s.counts == 0 { // a free slot is that of no bytes too
				return j
			}
			s.sum += sums[j]
			s.counts += inc
		}
		return j
	}
	incs = incs[:len(to)]
	for ; uint(j) < uint(len(to)); j++ {
		w, s := &texts[j], (*textSlot[S])(unsafe.Add(first, uint64(to[j])*textSlotBytes))
		if s.low != w[0] || s.high != w[1] || s.counts == 0 {
			return j
		}
		s.sum += sums[j]
		s.counts += incs[j]
	}
	return j
}

// lookRecords is lookTexts for records, which have no hashes.
func lookRecords[S float64 | int64](slots []textSlot[S], records []textRecord, heads *[tallyStep]uint32, skip, shift uint) {
	first, mask := unsafe.Pointer(unsafe.SliceData(slots)), uint64(len(slots)-1)
	to := heads[:len(records)]
	for j := range to {
		low, high := records[j].text[0], records[j].text[1]&^noValue
		i := mixText(low, high) << (skip & 63) >> (shift & 63) & mask
		s := (*[2]uint64)(unsafe.Add(first, i*textSlotBytes))
		to[j] = uint32(i ^ differs(s[0]^low|s[1]^high, 0))
	}
}

// addRecords is addTexts for records. Of values that are not null, those are counted
// that values leaves: all or none.
func addRecords[S float64 | int64](slots []textSlot[S], records []textRecord, heads *[tallyStep]uint32, values uint64, j int) int {
	first, to := unsafe.Pointer(unsafe.SliceData(slots)), heads[:len(records)]
	for ; uint(j) < uint(len(to)); j++ {
		r, s := &records[j], (*textSlot[S])(unsafe.Add(first, uint64(to[j])*textSlotBytes))
		if s.low != r.text[0] || s.high != r.text[1]&^noValue || s.counts == 0 {
			return j
		}
		s.sum += *(*S)(unsafe.Pointer(&r.value))
		s.counts += oneRow + ^r.text[1]>>63<<32&values
	}
	return j
}
