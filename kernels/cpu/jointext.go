package cpu

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// textChecker is how candidates are checked where keys are one column of
// strings; nil for other keys.
func textChecker(c *memory.Column) func(f *joinFinder, b, found *batch) {
	switch c.Type().ID() {
	case arrow.STRING, arrow.BINARY:
		return checkTexts[int32]
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return checkTexts[int64]
	}
	return nil
}

// checkTexts compares strings by their first and last eight bytes, and those
// that are longer as a whole. It finds where candidates lie before it reads any of them.
func checkTexts[T int32 | int64](f *joinFinder, b, found *batch) {
	probe, built := f.probe.cols[0].c, f.ks.cols[0].c
	if probe.MayHaveNulls() || built.MayHaveNulls() {
		checkRows(f, b, found)
		return
	}
	x, y, xs, ys := memory.Offsets[T](probe), memory.Offsets[T](built), bytesOf(probe), bytesOf(built)
	starts, ends := found.part[:b.n], found.words[:b.n]
	for j, row := range found.rows[:b.n] {
		starts[j], ends[j] = uint64(y[row]), uint64(y[row+1])
	}
	for j, id := range b.ids[:b.n] {
		if id == 0 {
			continue
		}
		row := b.row(j)
		p, q := xs[x[row]:x[row+1]], ys[starts[j]:ends[j]]
		same := len(p) == len(q)
		if n := len(p); same && n >= 8 {
			same = binary.LittleEndian.Uint64(p) == binary.LittleEndian.Uint64(q) &&
				binary.LittleEndian.Uint64(p[n-8:]) == binary.LittleEndian.Uint64(q[n-8:]) &&
				(n <= wholeText || string(p) == string(q))
		} else if same {
			same = string(p) == string(q)
		}
		if !same {
			f.again(b, j)
		}
	}
}
