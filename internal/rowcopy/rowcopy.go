// Package rowcopy copies rows of a matrix, or words of columns, that are told by their
// numbers.
package rowcopy

// near is how many bytes of rows are asked for ahead of their being copied: what a
// first-level cache takes beside what is written, and more lines than a processor
// has under way.
const near = 8 << 10

// mostAhead is how many rows are asked for ahead at most.
const mostAhead = 64

// Copy writes row rows[i] of from to to[i*step:], for each i: rows are of width bytes,
// each width behind the one before in from. All must be there, and room for them in
// to; to and from must not overlap.
//
// Rows at random wait for memory. Processors take them up some at a time, as many as
// are in what they see ahead; here each row is asked for long before it is copied.
func Copy(to []byte, step int, from []byte, width int, rows []int64) {
	if len(rows) == 0 || width == 0 {
		return
	}
	_ = to[(len(rows)-1)*step+width-1]
	if vector(to, step, from, width, rows) {
		return
	}
	plain(to, step, from, width, rows)
}

func plain(to []byte, step int, from []byte, width int, rows []int64) {
	w := int64(width)
	for i, r := range rows {
		copy(to[i*step:i*step+width], from[r*w:(r+1)*w])
	}
}
