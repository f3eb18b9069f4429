package distributed

import (
	"runtime"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// route is where the rows of a chunk go: a stable counting sort by destination, of blocks that are counted and placed side by side.
type route struct {
	o    *op
	dest []int32   // by row
	next [][]int64 // by block and destination: how many rows, then the place of the next
	size int       // rows of a block
}

// newRoute is one for so many rows. Its memory is that of the operation's route before.
func newRoute(o *op, rows int64, destinations int) *route {
	if int64(cap(o.dest)) < rows {
		o.dest = make([]int32, rows)
	}
	r := &route{o: o, dest: o.dest[:rows]}
	blocks := max(1, min(runtime.GOMAXPROCS(0), int(rows)/splitRows))
	r.size = (int(rows) + blocks - 1) / blocks
	r.next = make([][]int64, blocks)
	for i := range r.next {
		r.next[i] = make([]int64, destinations)
	}
	return r
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

// place turns the counts into places, and gives where each destination's rows begin.
func (r *route) place() []int64 {
	offsets := make([]int64, len(r.next[0])+1)
	at := int64(0)
	for d := range r.next[0] {
		for _, block := range r.next {
			n := block[d]
			block[d] = at
			at += n
		}
		offsets[d+1] = at
	}
	return offsets
}

// order is the numbers of rows in the order of their destinations, and in their own within
// each, where the backend reads them.
func (r *route) order(s device.Stream) (*memory.Column, error) {
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
		err = number(r, memory.View[uint32](buffer))
	} else {
		err = number(r, memory.View[uint64](buffer))
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
func number[R uint32 | uint64](r *route, rows []R) error {
	return r.each(func(block, from, end int) {
		next := r.next[block]
		for i := from; i < end; i++ {
			d := r.dest[i]
			rows[next[d]] = R(i)
			next[d]++
		}
	})
}
