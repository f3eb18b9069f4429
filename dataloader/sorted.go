package dataloader

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/rowcopy"
)

const (
	// leastSorted is the fewest rows that are sorted before columns are read: those of
	// fewer are far apart in any order.
	leastSorted = 512
	// leastUnsorted is the most rows of a table whose batches are not sorted: its columns
	// stay in the second-level cache.
	leastUnsorted = 1 << 17
)

// sorter puts the rows of a batch into the order in which they lie, nearly: by the
// first bits of their numbers. What is read one after the other is then near: in few
// pages, whose places in memory the processor still knows, and in memory's open rows.
// That pays where they are asked for ahead; else what shows is how long one takes.
type sorter struct {
	rows   []int64
	places []int32 // where in the batch each is
	counts [1 << sortBits]int32
}

const sortBits = 12

// sort takes up the rows of a batch out of so many.
func (s *sorter) sort(rows []int64, of int64) {
	if cap(s.rows) < len(rows) {
		s.rows, s.places = make([]int64, len(rows)), make([]int32, len(rows))
	}
	s.rows, s.places = s.rows[:len(rows)], s.places[:len(rows)]
	shift := uint(max(0, bits.Len64(uint64(of-1))-sortBits))
	clear(s.counts[:])
	for _, r := range rows {
		s.counts[r>>shift&(1<<sortBits-1)]++
	}
	sum := int32(0)
	for i, n := range s.counts {
		s.counts[i], sum = sum, sum+n
	}
	for i, r := range rows {
		at := &s.counts[r>>shift&(1<<sortBits-1)]
		s.rows[*at], s.places[*at] = r, int32(i)
		*at++
	}
}

// sorts reports whether a batch's rows are to be sorted for columns of words: rows at
// random of columns that lie in memory.
func (r *tableReader) sorts(s *scratch, rows []int64) bool {
	if s.group != nil || r.rows <= leastUnsorted || len(rows) < leastSorted || len(rows) > 1<<30 || isRun(rows[:2], nil) {
		return false
	}
	for i := range r.parts {
		p := &r.parts[i]
		for c := range p.columns {
			if p.columns[c].words != nil && int64(c) >= p.laidOut() {
				return true
			}
		}
	}
	return false
}

// laidOut is how many of a part's columns, of the first ones, its tile has.
func (p *openPart) laidOut() int64 {
	if p.tile == nil || !p.laid.Load() {
		return 0
	}
	return p.tile.columns
}

// gatherSorted gathers the columns of words of all parts into rows of the tensors from
// first on, and asks for the next column while one is read.
func (r *tableReader) gatherSorted(ctx context.Context, s *scratch, rows []int64, to []Tensor, first int64) error {
	for _, row := range rows {
		if uint64(row) >= uint64(r.rows) {
			return device.Errorf(device.ErrValue, "", "dataloader", "row %d of %d", row, r.rows)
		}
	}
	s.sort(rows, r.rows)
	for at := 0; at < len(rows); at += blockRows {
		if at&0xffff == 0 {
			if err := device.Canceled(ctx, "", "dataloader"); err != nil {
				return err
			}
		}
		end := min(at+blockRows, len(rows))
		local, chunk := r.locate(s.sorter.rows[at:end], s)
		after := s.sorter.rows[at:end]
		if end+blockRows <= len(rows) {
			after = s.sorter.rows[end:]
		}
		for i := range r.parts {
			r.parts[i].gatherWords(&to[i], first, s.places[at:end], local, chunk, after)
		}
	}
	return nil
}

// gatherWords gathers a part's columns of words: local are rows, whose places count from
// row first of the tensor, and after the rows of which the first column is read next.
func (p *openPart) gatherWords(to *Tensor, first int64, places []int32, local []int64, chunk []int32, after []int64) {
	from := int(p.laidOut())
	for c := from; c < len(p.columns); c++ {
		g := &p.columns[c]
		if g.words == nil {
			continue
		}
		next, rows := g, local
		if c+1 < len(p.columns) && p.columns[c+1].words != nil {
			next = &p.columns[c+1]
		} else if p.columns[from].words != nil && chunk == nil {
			next, rows = &p.columns[from], after
		}
		dst := view[uint32](to.Data)[first*to.RowStride+g.first*to.ColumnStride:]
		if chunk == nil {
			rowcopy.Words(dst, int(to.RowStride), places, g.words[0], local, next.words[0], rows)
		} else {
			rowcopy.ChunkedWords(dst, int(to.RowStride), places, g.words, local, chunk, next.words)
		}
	}
}
