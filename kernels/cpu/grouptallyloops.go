package cpu

import "unsafe"

// The loops that each row of spread keys goes through. They take addresses instead
// of indices: a check of each index held a register and a branch, and the rest of
// the state went to the stack and back for each row.

// scatterHashes writes the record of each word to where next says for its hash's
// part, the first bits, 64-back of them. next has a place for each part, and
// records has room for what is written: the same words were counted.
func scatterHashes(records []tallyRecord, next []uint32, words, values []uint64, base uint64, back uint) {
	to, cursors := unsafe.Pointer(unsafe.SliceData(records)), unsafe.Pointer(unsafe.SliceData(next))
	word, value := unsafe.Pointer(unsafe.SliceData(words)), unsafe.Pointer(unsafe.SliceData(values))
	for j := uintptr(0); j < uintptr(len(words)); j++ {
		h := hashWord(*(*uint64)(unsafe.Add(word, j*8))-base, 0)
		cursor := (*uint32)(unsafe.Add(cursors, h>>(back&63)*4))
		at := *cursor
		*cursor = at + 1
		*(*tallyRecord)(unsafe.Add(to, uintptr(at)*16)) = tallyRecord{h, *(*uint64)(unsafe.Add(value, j*8))}
	}
}

// lookHashes puts into heads the slots where records' words are, or the third of
// a search. There are 1<<k slots, for some k.
func lookHashes[S float64 | int64](slots []tallySlot[S], records []tallyRecord, heads []uint32, shift uint, free uint64) {
	first, mask := unsafe.Pointer(unsafe.SliceData(slots)), uint64(len(slots)-1)
	to := heads[:len(records)]
	for j := range records {
		w := records[j].word &^ free
		i := w >> (shift & 63)
		i += differs(*(*uint64)(unsafe.Add(first, i&mask*tallySlotBytes)), w)
		i += differs(*(*uint64)(unsafe.Add(first, i&mask*tallySlotBytes)), w)
		to[j] = uint32(i)
	}
}

// addHeads adds records from j on, none without a value, to the slots in heads, and
// stops at one whose slot has another word.
func addHeads[S float64 | int64](slots []tallySlot[S], records []tallyRecord, heads *[tallyStep]uint32, j int) int {
	first, mask := unsafe.Pointer(unsafe.SliceData(slots)), uint64(len(slots)-1)
	to := heads[:len(records)]
	for ; uint(j) < uint(len(to)); j++ {
		r := (*tallyRecord)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(records)), j*16))
		s := (*tallySlot[S])(unsafe.Add(first, uint64(to[j])&mask*tallySlotBytes))
		if s.word != r.word { // a free slot is that of 0 too
			return j
		}
		s.sum += *(*S)(unsafe.Pointer(&r.value))
		s.counts += oneValue
	}
	return j
}

// tallySlotBytes is the size of a slot.
const tallySlotBytes = uint64(unsafe.Sizeof(tallySlot[int64]{}))
