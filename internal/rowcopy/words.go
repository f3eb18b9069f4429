package rowcopy

import "unsafe"

// Words writes the rows[i]-th word of the column that begins at from to
// to[places[i]*step], for each i, and asks for the nextRows[i]-th of the one that begins
// at next beside that: what will be read after it. All must be there, and room for them
// in to; there are as many places, and as many nextRows, as rows at least.
//
// A column's words at random rows lie a line of the cache each. A loop that only loads
// and stores has as many under way as a processor sees ahead in it; asked for while
// the column before is read, they are there when their turn comes.
func Words(to []uint32, step int, places []int32, from unsafe.Pointer, rows []int64, next unsafe.Pointer, nextRows []int64) {
	if len(rows) == 0 {
		return
	}
	_, _ = places[len(rows)-1], nextRows[len(rows)-1]
	askWords(to, step, places, from, rows, next, nextRows)
}

// ChunkedWords is Words of columns in chunks: from[chunk[i]] and next[chunk[i]] are
// where those of row rows[i] begin.
func ChunkedWords(to []uint32, step int, places []int32, from []unsafe.Pointer, rows []int64, chunk []int32, next []unsafe.Pointer) {
	if len(rows) == 0 {
		return
	}
	_, _, _ = places[len(rows)-1], chunk[len(rows)-1], next[len(from)-1]
	askChunkedWords(to, step, places, from, rows, chunk, next)
}

func plainWords(to []uint32, step int, places []int32, from unsafe.Pointer, rows []int64) {
	for i, r := range rows {
		to[int(places[i])*step] = *(*uint32)(unsafe.Add(from, 4*r))
	}
}

func plainChunkedWords(to []uint32, step int, places []int32, from []unsafe.Pointer, rows []int64, chunk []int32) {
	for i, r := range rows {
		to[int(places[i])*step] = *(*uint32)(unsafe.Add(from[chunk[i]], 4*r))
	}
}
