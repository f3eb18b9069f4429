package cpu

// Short runs of rows are sorted by insertion, middling ones by merging.
const (
	insertionRows = 24
	mergeRows     = 1024
)

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

// mergePairs sorts rows by their words, stably, with spare room as long.
func mergePairs[K row, R row](words, spareWords []K, rows, spareRows []R) {
	n := len(words)
	for a := 0; a < n; a += insertionRows {
		b := min(a+insertionRows, n)
		insertPairs(words[a:b], rows[a:b])
	}
	w, r, sw, sr := words, rows, spareWords, spareRows
	swapped := false
	for width := insertionRows; width < n; width *= 2 {
		for a := 0; a < n; a += 2 * width {
			m, b := min(a+width, n), min(a+2*width, n)
			i, j := a, m
			for k := a; k < b; k++ {
				if j == b || i < m && w[i] <= w[j] {
					sw[k], sr[k] = w[i], r[i]
					i++
				} else {
					sw[k], sr[k] = w[j], r[j]
					j++
				}
			}
		}
		w, r, sw, sr = sw, sr, w, r
		swapped = !swapped
	}
	if swapped {
		copy(words, w)
		copy(rows, r)
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
