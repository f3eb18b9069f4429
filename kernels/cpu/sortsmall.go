package cpu

import "math"

// insertionRows is the most rows that are sorted by insertion.
const insertionRows = 24

// insertPairs sorts rows by their words, stably.
func insertPairs[K row, R row](words []K, rows []R) {
	for i := 1; i < len(words); i++ {
		w, r, j := words[i], rows[i], i
		for ; j > 0 && words[j-1] > w; j-- {
			words[j], rows[j] = words[j-1], rows[j-1]
		}
		words[j], rows[j] = w, r
	}
}

const (
	// networkPlace is the bits of a row's place among those that a network sorts.
	networkPlace = 5
	// networkBits is how many bits of their words may differ.
	networkBits = 63 - networkPlace
	// tinyRows are fewer than a network is worth.
	tinyRows = 3
)

// tinyPairs puts few rows in the order of their words as it moves them.
func tinyPairs[K row, R row](from, to pairs[K, R]) {
	toWords, toRows := to.words[:len(from.words)], to.rows[:len(from.words)]
	for i, w := range from.words {
		j := i
		for ; j > 0 && toWords[j-1] > w; j-- {
			toWords[j], toRows[j] = toWords[j-1], toRows[j-1]
		}
		toWords[j], toRows[j] = w, from.rows[i]
	}
}

// fewPairs puts up to networkRows rows in the order of their words as it moves
// them, the words only if asked to. They differ in the last networkBits alone,
// and so what is sorted is these with the rows' places below them: no two are
// equal, the order is stable, and rows move once, at the end.
func fewPairs[K row, R row](l *loops, room *[networkRows]uint64, from, to pairs[K, R], words bool) {
	n := len(from.words)
	m := 8
	for m < n {
		m *= 2
	}
	v := room[:m]
	for i, w := range from.words {
		v[i] = uint64(w)<<networkPlace&math.MaxInt64 | uint64(i)
	}
	for i := n; i < m; i++ {
		v[i] = math.MaxInt64
	}
	l.network.sort(v)
	rows, toRows := from.rows[:n], to.rows[:n]
	if !words {
		for i, c := range v[:n] {
			toRows[i] = rows[c&(networkRows-1)]
		}
		return
	}
	toWords, same := to.words[:n], uint64(from.words[0])>>networkBits<<networkBits
	for i, c := range v[:n] {
		toRows[i] = rows[c&(networkRows-1)]
		toWords[i] = K(same | c>>networkPlace)
	}
}

// mergeRowsBy sorts rows by a comparison, stably, with spare room as long.
// stop, asked now and then, ends the work early with its error.
func mergeRowsBy[R row](rows, spare []R, compare func(a, b R) int, stop func() error) error {
	n := len(rows)
	if n <= insertionRows {
		for i := 1; i < n; i++ {
			r, j := rows[i], i
			for ; j > 0 && compare(rows[j-1], r) > 0; j-- {
				rows[j] = rows[j-1]
			}
			rows[j] = r
		}
		return nil
	}
	m := n / 2
	if err := mergeRowsBy(rows[:m], spare[:m], compare, stop); err != nil {
		return err
	}
	if err := mergeRowsBy(rows[m:], spare[m:], compare, stop); err != nil {
		return err
	}
	if compare(rows[m-1], rows[m]) <= 0 {
		return nil
	}
	left := spare[:copy(spare, rows[:m])]
	i, j := 0, m
	for k := 0; i < len(left); k++ {
		if k&1023 == 0 {
			if err := stop(); err != nil {
				return err
			}
		}
		if j == n || compare(left[i], rows[j]) <= 0 {
			rows[k] = left[i]
			i++
		} else {
			rows[k] = rows[j]
			j++
		}
	}
	return nil
}
