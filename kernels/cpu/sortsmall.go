package cpu

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
