package cpu

import (
	"context"
	"sync/atomic"
)

// apartPanels is the least of panels of B that a worker has for itself.
const apartPanels = 4

// apart cuts a product into one for each worker, of some columns of B and C, where
// B is packed and A is not: what a core has packed lies in its own second-level
// cache, from which another one gets it at the pace of the last (a worker's first
// pass over a packed B took 125 µs of 512 x 512 x 512, the others 95), and nobody
// waits for what another packs. Where A is packed, each worker would pack it whole.
// Else it is the product itself.
func (p *product[T]) apart(team int) []*product[T] {
	g := p.grid()
	n := min(team, g.across/apartPanels)
	if n < 2 || p.directB(g.across) || !p.directA(g.across) {
		return []*product[T]{p}
	}
	all := make([]*product[T], n)
	for i := range all {
		from, to := g.col(i*g.across/n), g.col((i+1)*g.across/n)
		part := *p
		part.b, part.c = p.b.columns(from, to), p.c.columns(from, to)
		all[i] = &part
	}
	return all
}

// columns is columns [from, to) of w.
func (w window[T]) columns(from, to int) window[T] {
	w.v, w.cols = w.v[from*w.col:], to-from
	return w
}

// together runs schedules of products that are apart: each worker begins with one of
// them and goes on with the others.
func together[T float](ctx context.Context, team int, all []*schedule[T]) error {
	d := &rota{next: make([]shift, len(all))}
	defer context.AfterFunc(ctx, func() {
		for _, s := range all {
			s.order.fail()
		}
	})()
	for _, s := range all {
		if err := s.open(team); err != nil {
			return err
		}
		defer s.close()
		d.tasks = max(d.tasks, s.order.tasks())
	}
	for i, s := range all {
		d.next[i].end = int64(s.order.tasks())
	}
	return each(ctx, d.tasks*len(all), team, d, true, func(worker, i int) error {
		return all[i/d.tasks].task(worker, i%d.tasks)
	})
}

// rota deals the tasks of some schedules, of each in order.
type rota struct {
	next  []shift
	tasks int // numbers of a schedule's tasks
}

type shift struct {
	next atomic.Int64
	end  int64
	_    [112]byte
}

func (*rota) begin(int) (end func()) { return func() {} }

func (d *rota) take(worker, n int) int {
	for k := range d.next {
		of := (worker + k) % len(d.next)
		t := &d.next[of]
		if t.next.Load() >= t.end {
			continue
		}
		if i := t.next.Add(1) - 1; i < t.end {
			return of*d.tasks + int(i)
		}
	}
	return n
}
