package cpu

import "math"

// sampleRows is how many rows are looked at to guess how many groups there are.
const sampleRows = 1 << 13

// estimateGroups guesses the number of distinct words among n rows. It looks
// at rows spread over all of them, at places that depend on n alone, and takes
// the number of equally frequent groups that would show as many distinct ones
// in a sample of that size. Words that are an eighth of the sample or more, such as
// null, say nothing of how frequent others are, and do not count among these. A guess
// that is wrong costs time, never a result.
func estimateGroups(src source, n int64, card uint64) int64 {
	r := min(n, sampleRows)
	if r == 0 {
		return 0
	}
	b := new(batch)
	var rows [batchRows]uint32
	table := make([]uint64, 4*sampleRows)
	counts := make([]uint16, len(table))
	distinct, seen := int64(0), int64(0)
	for from := int64(0); from < r; from += batchRows {
		k := min(batchRows, r-from)
		for j := range k {
			low, high := (from+j)*n/r, (from+j+1)*n/r
			rows[j] = uint32(low + int64(mix(uint64(low))%uint64(high-low)))
		}
		b.gather(rows[:k])
		if src.fill(b) {
			b.compact()
		}
		seen += int64(b.n)
		for _, w := range b.words[:b.n] {
			i := mix(w) % uint64(len(table))
			for counts[i] != 0 && table[i] != w {
				i = (i + 1) % uint64(len(table))
			}
			if table[i] = w; counts[i] == 0 {
				distinct++
			}
			counts[i]++
		}
	}
	if r == n || distinct < 2 {
		return distinct
	}
	frequent, often := int64(0), max(seen/8, 2)
	for _, k := range counts {
		if k := int64(k); k >= often {
			frequent++
			seen -= k
		}
	}
	if distinct -= frequent; distinct < 2 {
		return distinct + frequent
	}
	most := n
	if card != 0 && card < uint64(n) {
		most = int64(card)
	}
	if distinct >= seen-seen/1000 {
		return most
	}
	low, high := float64(distinct), float64(most)
	for range 50 {
		g := math.Sqrt(low * high)
		if g*(1-math.Pow(1-1/g, float64(seen))) < float64(distinct) {
			low = g
		} else {
			high = g
		}
	}
	return min(int64(high)+frequent, most)
}
