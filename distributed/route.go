package distributed

import (
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// route is where the rows of a chunk go: a stable counting sort by destination, of blocks that are counted and placed side by side.
type route struct {
	o    *op
	dest []int32   // by row
	next [][]int64 // by block and destination: how many rows, then the place of the first within the destination
	pos  []uint32  // by row: its place within its destination, found when it is first asked for
	size int       // rows of a block
}

// newRoute is one for so many rows. Its memory is that of the operation's route before.
func newRoute(o *op, rows int64, destinations int) *route {
	if int64(cap(o.dest)) < rows {
		o.dest = make([]int32, rows)
	}
	return routeOver(o, o.dest[:rows], destinations)
}

// routeOver is one of rows whose destinations have this place.
func routeOver(o *op, dest []int32, destinations int) *route {
	r := &route{o: o, dest: dest}
	blocks := max(1, min(processors.Count(), len(dest)/splitRows))
	r.size = (len(dest) + blocks - 1) / blocks
	r.next = make([][]int64, blocks)
	for i := range r.next {
		r.next[i] = make([]int64, destinations)
	}
	return r
}

// count counts the rows of each block by their destinations, and gives those of all.
func (r *route) count() ([]int64, error) {
	if err := r.each(func(block, from, end int) {
		for _, d := range r.dest[from:end] {
			r.next[block][d]++
		}
	}); err != nil {
		return nil, err
	}
	all := make([]int64, len(r.next[0]))
	for _, block := range r.next {
		for d, n := range block {
			block[d] = all[d]
			all[d] += n
		}
	}
	return all, nil
}

// each calls f with the rows [from, end) of blocks, those of several blocks at once.
func (r *route) each(f func(block, from, end int)) error {
	errs := make([]error, len(r.next))
	block := func(i int) {
		last := min((i+1)*r.size, len(r.dest))
		for from := i * r.size; from < last; from += splitRows {
			if errs[i] = device.Canceled(r.o.ctx, "", r.o.call.Op); errs[i] != nil {
				return
			}
			f(i, from, min(from+splitRows, last))
		}
	}
	var all sync.WaitGroup
	for i := 1; i < len(r.next); i++ {
		all.Go(func() { block(i) })
	}
	block(0)
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// order is the numbers of rows in the order of their destinations, and in their own within
// each, where the backend reads them.
func (r *route) order(s device.Stream, offsets []int64) (*memory.Column, error) {
	backend := r.o.backend
	near := backend.Device.Memory()
	if !near.Place().HostAccessible() {
		near = backend.Device.Pinned()
	}
	n := int64(len(r.dest))
	typ := kernels.IndexType(n)
	buffer, err := memory.New(near, n*int64(memory.Width(typ)))
	if err != nil {
		return nil, err
	}
	if memory.Width(typ) == 4 {
		err = number(r, memory.View[uint32](buffer), offsets)
	} else {
		err = number(r, memory.View[uint64](buffer), offsets)
	}
	if err != nil {
		buffer.Release()
		return nil, err
	}
	here, err := memory.NewColumn(memory.Parts{Type: typ, Len: n, Buffers: []*memory.Buffer{nil, buffer}})
	if err != nil {
		return nil, err
	}
	defer here.Release()
	return table.OnDevice(r.o.ctx, backend, s, here)
}

// number writes the numbers of the rows.
func number[R uint32 | uint64](r *route, rows []R, offsets []int64) error {
	if err := r.places(); err != nil {
		return err
	}
	return r.each(func(_, from, end int) {
		for i := from; i < end; i++ {
			rows[offsets[r.dest[i]]+int64(r.pos[i])] = R(i)
		}
	})
}

// places finds the place of each row within its destination. It counts on in next.
func (r *route) places() error {
	if r.pos != nil {
		return nil
	}
	if cap(r.o.pos) < len(r.dest) {
		r.o.pos = make([]uint32, len(r.dest))
	}
	pos := r.o.pos[:len(r.dest)]
	err := r.each(func(block, from, end int) {
		next, place := r.next[block], pos[from:end]
		for i, d := range r.dest[from:end] {
			place[i] = uint32(next[d])
			next[d]++
		}
	})
	r.pos = pos
	return err
}
