package dataloader

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/internal/rowcopy"
	"github.com/volley-go/volley/memory"
)

// tile is the first columns of a part, cast to its type, with the elements of a
// row beside each other. A row of k columns of e bytes is then in k·e/64 cache
// lines instead of k, which is what random rows cost.
type tile struct {
	buffer  *memory.Buffer
	columns int64
	width   int64 // bytes of a row
}

// leastTile is the least number of columns that a tile is worth making for.
const leastTile = 4

// tileColumns is how many columns of a part fit into spare bytes: all of them,
// or else as many as fill whole cache lines.
func tileColumns(p *Part, rows, spare int64) int64 {
	columns, e := p.plain(), p.width()
	if columns < leastTile || rows == 0 {
		return 0
	}
	most := spare / rows / e
	if most >= columns {
		return columns
	}
	if most -= most % (memory.Alignment / e); most < leastTile {
		return 0
	}
	return most
}

// newTile takes memory for the first columns of a part.
func (r *tableReader) newTile(m memory.Allocator, p *openPart, columns int64) (*tile, error) {
	width := columns * p.width()
	buffer, err := memory.New(m, r.rows*width)
	if err != nil {
		return nil, err
	}
	return &tile{buffer, columns, width}, nil
}

// fill lays out all rows of the reader, on all processors, in a tile's rows from
// first on.
func (r *tableReader) fill(ctx context.Context, t *tile, p *openPart, first int64) error {
	workers := int64(processors.Count())
	each := ceil(ceil(r.rows, workers), blockRows) * blockRows
	var wg sync.WaitGroup
	var lost atomic.Bool
	for from := int64(0); from < r.rows; from += each {
		wg.Go(func() {
			if !r.fillRows(ctx, t, p, first, from, min(from+each, r.rows)) {
				lost.Store(true)
			}
		})
	}
	wg.Wait()
	if lost.Load() {
		return device.Errorf(device.ErrLost, "", "dataloader", "the data went away while it was laid out")
	}
	return device.Canceled(ctx, "", "dataloader")
}

// fillRows reports false where the data cannot be read: a mapped file that was
// cut short.
func (r *tableReader) fillRows(ctx context.Context, t *tile, p *openPart, first, from, to int64) (ok bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		ok = recover() == nil
	}()
	s := r.borrow()
	defer r.giveBack(s)
	var rows [blockRows]int64
	for at := from; at < to && ctx.Err() == nil; at += blockRows {
		if at&(letInRows-1) == 0 {
			letIn()
		}
		n := min(blockRows, to-at)
		for i := range rows[:n] {
			rows[i] = at + int64(i)
		}
		local, chunk := r.locate(rows[:n], s)
		run := isRun(local, chunk)
		if run {
			gatherRun(p.columns[:t.columns], &s.block, t.buffer.Bytes(), (first+at)*t.columns, t.columns, 1, local, chunk)
		}
		for c := range p.columns[:t.columns] {
			g := p.columns[c].gatherer
			k := (first+at)*t.columns + int64(c)
			if !run {
				g.gather(t.buffer.Bytes(), k, t.columns, local, chunk)
			}
			g.mark(t.buffer.Bytes(), nil, k, t.columns, local, chunk)
		}
	}
	return true
}

// touchRows is how many rows are brought near before they are copied: 64 rows
// of 128 bytes are a quarter of a first-level cache.
const touchRows = 64

// copyTo writes rows into a tensor from its row at on.
func (t *tile) copyTo(to *Tensor, at int64, rows []int64) (touched byte) {
	bytes, w := t.buffer.Bytes(), t.width
	e := w / t.columns
	if to.ColumnStride == 1 && to.RowStride == t.columns && isRun(rows, nil) {
		copy(to.Data[at*w:][:int64(len(rows))*w], bytes[rows[0]*w:])
		return 0
	}
	if to.ColumnStride == 1 {
		step := to.RowStride * e
		rowcopy.Copy(to.Data[at*step:], int(step), bytes, int(w), rows)
		return 0
	}
	return t.turnTo(to, at, rows)
}

// turnTo is copyTo into columns. The lines of some rows are read first in a loop that
// does nothing else: as many loads as the processor bears are then under way, which a
// loop that also stores far apart does not get to. What it read is returned so that
// the loop is not left out.
func (t *tile) turnTo(to *Tensor, at int64, rows []int64) (touched byte) {
	bytes, w := t.buffer.Bytes(), t.width
	for len(rows) > 0 {
		n := min(touchRows, len(rows))
		for _, r := range rows[:n] {
			for k := r * w; k < (r+1)*w; k += memory.Alignment {
				touched ^= bytes[k]
			}
		}
		switch w / t.columns {
		case 1:
			turn[uint8](to.Data[at:], to.ColumnStride, bytes, t.columns, rows[:n])
		case 2:
			turn[uint16](view[uint16](to.Data)[at:], to.ColumnStride, view[uint16](bytes), t.columns, rows[:n])
		case 4:
			turn[uint32](view[uint32](to.Data)[at:], to.ColumnStride, view[uint32](bytes), t.columns, rows[:n])
		default:
			turn[uint64](view[uint64](to.Data)[at:], to.ColumnStride, view[uint64](bytes), t.columns, rows[:n])
		}
		rows, at = rows[n:], at+int64(n)
	}
	return touched
}

// scatterTo writes rows to places of a tensor.
func (t *tile) scatterTo(to *Tensor, places []int32, rows []int64) {
	bytes, w := t.buffer.Bytes(), t.width
	e := w / t.columns
	for i, r := range rows {
		row, at := bytes[r*w:(r+1)*w], int64(places[i])*to.RowStride*e
		if to.ColumnStride == 1 {
			copy(to.Data[at:at+w], row)
			continue
		}
		for c := int64(0); c < w; c += e {
			copy(to.Data[at+c*to.ColumnStride:][:e], row[c:c+e])
		}
	}
}

// turn writes rows of a tile as columns.
func turn[T uint8 | uint16 | uint32 | uint64](dst []T, stride int64, src []T, columns int64, rows []int64) {
	for c := range columns {
		d := dst[c*stride:][:len(rows)]
		for i, r := range rows {
			d[i] = src[r*columns+c]
		}
	}
}
