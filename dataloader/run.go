package dataloader

// runRows is how many rows of a run are worked on at a time: some lines of each
// column, and a part of a row-major tensor that stays in the first-level cache
// beside them.
const runRows = 64

// runner is a gatherer that reads rows that follow each other without a list of
// them.
type runner interface {
	// run writes n values of a chunk from row first on to the elements at, at+step, …
	// of dst.
	run(dst []byte, at, step int64, chunk int32, first, n int64)
}

// isRun reports whether rows follow each other in one chunk.
func isRun(rows []int64, chunk []int32) bool {
	for i, r := range rows {
		if r != rows[0]+int64(i) || chunk != nil && chunk[i] != chunk[0] {
			return false
		}
	}
	return len(rows) > 0
}

// gatherRun gathers a run of rows of the columns that have no encoding, into a
// tensor of which element at is that of the first row and column 0.
func gatherRun(columns []openColumn, dst []byte, at, rowStride, columnStride int64, rows []int64, chunk []int32) {
	number := int32(0)
	if chunk != nil {
		number = chunk[0]
	}
	for len(rows) > 0 {
		n := min(runRows, len(rows))
		for c := range columns {
			g := &columns[c]
			k := at + g.first*columnStride
			if g.encoded != nil {
				continue
			}
			if r, ok := g.gatherer.(runner); ok {
				r.run(dst, k, rowStride, number, rows[0], int64(n))
				continue
			}
			if chunk == nil {
				g.gather(dst, k, rowStride, rows[:n], nil)
			} else {
				g.gather(dst, k, rowStride, rows[:n], chunk[:n])
			}
		}
		rows, at = rows[n:], at+int64(n)*rowStride
		if chunk != nil {
			chunk = chunk[n:]
		}
	}
}

func (v *values[S, T]) run(dst []byte, at, step int64, chunk int32, first, n int64) {
	d, src := view[T](dst)[at:], v.chunks[chunk][first:first+n]
	if step == 1 {
		d = d[:len(src)]
		for i, x := range src {
			d[i] = T(x)
		}
		return
	}
	k := int64(0)
	for _, x := range src {
		d[k] = T(x)
		k += step
	}
}
