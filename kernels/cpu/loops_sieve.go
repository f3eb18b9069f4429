package cpu

// sieveLoops keep the records of a range of hashes, and look records up.
type sieveLoops struct {
	// quick says that going over all rows for each range takes less time than
	// cutting them into parts does: about 0.8 ns a row, where the Go loop takes 2.
	quick bool
	sieve func(to *sieveRows, words, values []uint64, base uint64, skip uint, part uint64) (kept int)
	// look takes whole steps of eight of the records whose slots lookHashes looks
	// for; nil where that takes all.
	look func(heads []uint32, records []uint64, slots *uint64, shift, mask, free uint64)
}

func goSieveLoops() sieveLoops { return sieveLoops{sieve: sieveHashes} }

// sieveRows is room for the records of a batch that are in a range, and a bit for
// each row of the batch that is. The loops write whole registers of records.
type sieveRows struct {
	records [batchRows + 8]tallyRecord
	marks   [batchRows / 64]uint64
}

// sieveHashes puts into to the records of the words whose hashes begin with the skip
// bits of part, and marks their rows.
func sieveHashes(to *sieveRows, words, values []uint64, base uint64, skip uint, part uint64) (kept int) {
	clear(to.marks[:])
	return sieveFrom(to, 0, 0, words, values, base, skip, part)
}

// sieveFrom is sieveHashes from row j on, which is after kept records.
func sieveFrom(to *sieveRows, j, kept int, words, values []uint64, base uint64, skip uint, part uint64) int {
	shift := (63 - skip) & 63
	values = values[:len(words)]
	for ; j < len(words); j++ {
		h := hashWord(words[j]-base, 0)
		to.records[kept&(batchRows-1)] = tallyRecord{h, values[j]}
		in := 1 - differs(h>>shift>>1, part)
		to.marks[j/64&(batchRows/64-1)] |= in << (j & 63)
		kept += int(in)
	}
	return kept
}
