package distributed

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// direct reports whether the values of a column can be written to their destinations as they are read: those of one width, without nulls, where they are in the host's memory.
func direct(c *memory.Column) bool {
	switch memory.Width(c.Type()) {
	case 4, 8:
	default:
		return false
	}
	return c.Type().ID() != arrow.DICTIONARY && c.Place() == memory.Host && c.NullCount() == 0
}

// written makes a column for each destination of the values of one that is direct, which is read once. next is where each block's rows begin, as place leaves it.
func (r *route) written(c *memory.Column, next [][]int64, offsets []int64) (all []*memory.Column, err error) {
	defer func() {
		if err != nil {
			releaseColumns(all)
			all = nil
		}
	}()
	width := int64(memory.Width(c.Type()))
	buffers := make([]*memory.Buffer, len(offsets)-1)
	for d := range buffers {
		n := offsets[d+1] - offsets[d]
		if buffers[d], err = memory.New(r.o.backend.Device.Memory(), n*width); err != nil {
			for _, b := range buffers[:d] {
				b.Release()
			}
			return nil, err
		}
	}
	if width == 4 {
		err = writeParts[uint32](r, c, buffers, next, offsets)
	} else {
		err = writeParts[uint64](r, c, buffers, next, offsets)
	}
	for d, b := range buffers {
		if err != nil {
			b.Release()
			continue
		}
		var made *memory.Column
		if made, err = memory.NewColumn(memory.Parts{Type: c.Type(), Len: offsets[d+1] - offsets[d], Buffers: []*memory.Buffer{nil, b}}); err == nil {
			all = append(all, made)
		}
	}
	return all, err
}

func writeParts[T uint32 | uint64](r *route, c *memory.Column, buffers []*memory.Buffer, next [][]int64, offsets []int64) error {
	values, parts := memory.Values[T](c), make([][]T, len(buffers))
	for d, b := range buffers {
		parts[d] = memory.View[T](b)
	}
	at := make([][]int64, len(next))
	for block := range next {
		at[block] = slices.Clone(next[block])
		for d := range at[block] {
			at[block][d] -= offsets[d]
		}
	}
	return r.each(func(block, from, end int) {
		to, dest := at[block], r.dest[from:end]
		for i, v := range values[from:end] {
			d := dest[i]
			parts[d][to[d]] = v
			to[d]++
		}
	})
}

func releaseColumns(all []*memory.Column) {
	for _, c := range all {
		c.Release()
	}
}
