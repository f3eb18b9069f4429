package distributed

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// direct reports whether the values of a column can be written to their destinations as they are read: those of one width, without nulls, where they are in the host's memory.
func direct(c *memory.Column) bool {
	return directType(c.Type()) && c.Place() == memory.Host && c.NullCount() == 0
}

func directType(t arrow.DataType) bool { return memory.Width(t) > 0 && t.ID() != arrow.DICTIONARY }

// stretch is values of a column: n from at on, which are those of the route from first on.
type stretch struct {
	c            *memory.Column
	at, first, n int64
}

// target is where n values go, from value at of a buffer on.
type target struct {
	b     *memory.Buffer
	at, n int64
}

// written makes a column for each destination of the values of one that is direct, which is read once.
func (r *route) written(c *memory.Column, offsets []int64) (all []*memory.Column, err error) {
	width := int64(memory.Width(c.Type()))
	to := make([]target, len(offsets)-1)
	defer func() {
		for _, t := range to {
			t.b.Release()
		}
	}()
	for d := range to {
		n := offsets[d+1] - offsets[d]
		b, err := memory.New(r.o.backend.Device.Memory(), n*width)
		if err != nil {
			return nil, err
		}
		to[d] = target{b, 0, n}
	}
	if err := r.spread(width, []stretch{{c, 0, 0, c.Len()}}, to); err != nil {
		return nil, err
	}
	for _, t := range to {
		made, err := memory.NewColumn(memory.Parts{Type: c.Type(), Len: t.n, Buffers: []*memory.Buffer{nil, t.b.Retain()}})
		if err != nil {
			releaseColumns(all)
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

// spread writes values of a width to their places within their destinations, each read once.
func (r *route) spread(width int64, from []stretch, to []target) error {
	switch width {
	case 1:
		return spread[uint8](r, from, to)
	case 2:
		return spread[uint16](r, from, to)
	case 4:
		return spread[uint32](r, from, to)
	case 8:
		return spread[uint64](r, from, to)
	}
	return spread[[2]uint64](r, from, to)
}

func spread[T any](r *route, from []stretch, to []target) error {
	if err := r.places(); err != nil {
		return err
	}
	parts := make([][]T, len(to))
	for d, t := range to {
		if t.n > 0 {
			parts[d] = memory.View[T](t.b)[t.at : t.at+t.n]
		}
	}
	return r.each(func(_, first, end int) {
		for _, s := range from {
			low, high := max(int64(first), s.first), min(int64(end), s.first+s.n)
			if low >= high {
				continue
			}
			values, dest, place := memory.Values[T](s.c)[s.at+low-s.first:s.at+high-s.first], r.dest[low:high], r.pos[low:high]
			for i, v := range values {
				parts[dest[i]][place[i]] = v
			}
		}
	})
}

func releaseColumns(all []*memory.Column) {
	for _, c := range all {
		c.Release()
	}
}
