package tune

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/processors"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
)

// Lengths are those of the vectors that are measured, in bytes.
var Lengths = []int{8, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20}

// piece is the elements of a piece of a copy: longer ones may go past the caches.
const piece = 64 << 10 / 4

// meter measures over one endpoint; all ranks of it do the same.
type meter struct {
	ends  transport.Endpoint
	sent  []uint32
	taken []uint32
	in    []float32
	out   []float32
	new   []float32 // what a vector is written from
	// What a message needs, as a Comm has it: made anew it takes as long as a short message.
	head       transport.Header
	sink       transport.Sink
	into, with []float32
	combine    func(off int, part []byte)
	old        bool // something has been measured
	host       *host
}

// Measure measures a transport by the ends of two ranks, both of which call it; where
// there are more than processors it measures Figures.Crowd only, which asks that rank r
// is pinned to processor r mod processors. group names the groups that it splits from
// the endpoint's. Rank 0 gets the figures, the others nil. An endpoint that was measured can be used on. It ends with ctx, then with an
// error, after which the endpoint is of no use.
func Measure(ctx context.Context, ends transport.Endpoint, group string) (*Figures, error) {
	return measure(ctx, ends, group, nil)
}

// measure is Measure in one state of the host.
func measure(ctx context.Context, ends transport.Endpoint, group string, h *host) (*Figures, error) {
	if ends.Size() < 2 {
		return nil, device.Errorf(device.ErrMismatch, "", "tune", "%d ranks: two are needed", ends.Size())
	}
	stop := context.AfterFunc(ctx, func() { ends.Interrupt(ctx.Err()) })
	defer stop()
	longest := Lengths[len(Lengths)-1] / 4
	m := &meter{in: make([]float32, longest), out: make([]float32, longest), new: make([]float32, longest), host: h}
	touch(m.in, m.out, m.new)
	m = m.over(ends)
	f := &Figures{Transport: ends.Name(), Processors: processors.Count}
	if e, is := ends.(transport.Eager); is {
		f.Eager = int64(e.Eager())
	}
	var err error
	switch {
	case ends.Size() > f.Processors:
		f.Crowd = &Crowd{Ranks: ends.Size(), Eager: f.Eager}
		err = m.crowd(f.Crowd, f.Processors)
	case ends.Size() == 2:
		err = m.pair(ctx, group, f)
	}
	if ctx.Err() != nil {
		return nil, device.Canceled(ctx, "", "tune")
	}
	if err != nil || ends.Rank() > 0 {
		return nil, err
	}
	return f, nil
}

// point adds what a run with n bytes takes to a curve.
func (m *meter) point(into *[]simulate.Point, n int, share float64, run func() error) error {
	s, err := m.middle(run)
	*into = append(*into, simulate.Point{Bytes: float64(n), Seconds: s * share})
	return err
}

// over is a meter over another endpoint, with the same vectors.
func (m *meter) over(ends transport.Endpoint) *meter {
	n := ends.Size()
	x := &meter{ends: ends, sent: make([]uint32, n), taken: make([]uint32, n), in: m.in, out: m.out, new: m.new, host: m.host}
	x.combine = x.sum
	return x
}

// pair measures all that two ranks can show. Messages of a kind have an endpoint of their
// own: a transport may learn from some how it moves others.
func (m *meter) pair(ctx context.Context, group string, f *Figures) error {
	point := m.point
	var errs []error
	var of [8]*meter
	for i := range of {
		ends, err := m.ends.Split(ctx, fmt.Sprintf("%s of kind %d", group, i), []int{0, 1})
		if err != nil {
			return err
		}
		defer ends.Close()
		stop := context.AfterFunc(ctx, func() { ends.Interrupt(ctx.Err()) })
		defer stop()
		of[i] = m.over(ends)
	}
	for _, n := range Lengths {
		errs = append(errs, of[0].point(&f.OneWay, n, 1, func() error { return of[0].oneWay(n, false) }),
			of[1].point(&f.BothWays, n, 1, func() error { return of[1].exchange(n, false) }),
			of[2].point(&f.BothCombined, n, 1, func() error { return of[2].exchange(n, true) }),
			of[3].point(&f.OneCombined, n, 1, func() error { return of[3].oneWay(n, true) }),
			of[4].point(&f.Row, n, 1, func() error { return of[4].stream(1, n, false) }),
			of[5].point(&f.RowCombined, n, 1, func() error { return of[5].stream(1, n, true) }),
			of[6].point(&f.OneFresh, n, 1, func() error { return of[6].oneFresh(n) }),
			of[7].point(&f.BothFresh, n, 1, func() error { return of[7].exchangeFresh(n) }))
		alone := func(run func()) func() error {
			return func() error {
				if m.ends.Rank() == 0 {
					run()
				}
				return nil
			}
		}
		both := func(run func()) func() error { return func() error { run(); return nil } }
		copies, sums := func() { copy(m.out[:n/4], m.in[:n/4]) }, func() { add(m.out[:n/4], m.in[:n/4], m.out[:n/4]) }
		pieces := func() {
			for v, w := m.out[:n/4], m.in[:n/4]; len(w) > 0; v, w = v[min(piece, len(v)):], w[min(piece, len(w)):] {
				copy(v[:min(piece, len(v))], w)
			}
		}
		errs = append(errs, point(&f.Copy, n, 1, alone(copies)), point(&f.Caches, n, 1, alone(pieces)), point(&f.CachesTwo, n, 1, both(pieces)), point(&f.CopyTwo, n, 1, both(copies)),
			point(&f.Sum, n, 1, alone(sums)), point(&f.SumTwo, n, 1, both(sums)))
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	// A short message takes half of one there and back, and no other takes less.
	back := f.OneWay[0].Seconds / 2
	for i := range f.OneWay {
		f.OneWay[i].Seconds = max(back, f.OneWay[i].Seconds-back)
		f.OneCombined[i].Seconds = max(back, f.OneCombined[i].Seconds-back)
		f.OneFresh[i].Seconds = max(back, f.OneFresh[i].Seconds-back)
	}
	return errors.Join(m.lone(1-m.ends.Rank(), &f.Send, &f.Recv), m.together(&f.Next), m.fill(f.Eager, &f.Depth, &f.Room, &f.Least))
}

// middle is the median time of a run over trials of many, from when the first rank begins
// until the last is done: where ranks share processors one may be done before another has
// begun. Rank 0 gets it, which tells the others how many runs a trial has.
func (m *meter) middle(run func() error) (took float64, err error) {
	err = m.host.steady(func() error {
		took, err = m.try(run)
		return err
	})
	return took, err
}

// try is middle in whatever state the host is.
func (m *meter) try(run func() error) (float64, error) {
	all := trials{young: !m.old}
	m.old = true
	for all.start(); !all.done; {
		if err := m.barrier(); err != nil {
			return 0, err
		}
		start := clock()
		for range all.calls {
			if err := run(); err != nil {
				return 0, err
			}
		}
		took, err := m.whole(start, clock())
		if err != nil {
			return 0, err
		}
		all.add(took, time.Since(all.begun).Seconds())
		if err := m.agree(&all); err != nil {
			return 0, err
		}
	}
	if m.ends.Rank() > 0 {
		return 0, nil
	}
	return median(all.took), nil
}

// agree gives all ranks what rank 0 goes by: how many runs the next trial has, 0 for no
// more.
func (m *meter) agree(t *trials) error {
	next := t.calls
	if t.done {
		next = 0
	}
	next, err := m.tell(next)
	t.done = next == 0
	t.calls = max(1, next)
	return err
}

// tell gives all ranks rank 0's number.
func (m *meter) tell(n int) (int, error) {
	v := []float32{float32(n)}
	if m.ends.Rank() > 0 {
		return n, m.recv(0, v, nil, func() { n = int(v[0]) })
	}
	for r := 1; r < m.ends.Size(); r++ {
		if err := m.send(r, v); err != nil {
			return 0, err
		}
		if err := m.ends.Flush(r); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// barrier lets no rank on before rank 0 has heard of all.
func (m *meter) barrier() error {
	v := []float32{0}
	if m.ends.Rank() > 0 {
		if err := errors.Join(m.send(0, v), m.ends.Flush(0)); err != nil {
			return err
		}
	}
	for r := 1; r < m.ends.Size() && m.ends.Rank() == 0; r++ {
		if err := m.recv(r, v, nil, nil); err != nil {
			return err
		}
	}
	_, err := m.tell(0)
	return err
}

func (m *meter) header(step *uint32, v []float32) *transport.Header {
	h := &m.head
	h.Seq, h.Step, h.Len = 1, *step, int64(4*len(v))
	*step++
	return h
}

func (m *meter) send(to int, v []float32) error {
	return m.ends.Post(to, m.header(&m.sent[to], v), asBytes(v))
}

// recv takes a message into v; with is what it is added to on arrival, if not nil.
func (m *meter) recv(from int, v, with []float32, then func()) error {
	h := m.header(&m.taken[from], v)
	m.sink.Into, m.sink.Combine = asBytes(v), nil
	if with != nil {
		m.into, m.with, m.sink.Combine = v, with, m.combine
	}
	err := m.ends.Recv(from, h, &m.sink)
	if err == nil && then != nil {
		then()
	}
	return err
}

// sum is what becomes of a part of a message that is summed on arrival.
func (m *meter) sum(off int, part []byte) {
	got := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(part))), len(part)/4)
	add(m.into[off/4:off/4+len(got)], m.with[off/4:off/4+len(got)], got)
}

// touch writes to vectors: until then all of their pages are one page of zeros, which
// stays in the nearest cache.
func touch(all ...[]float32) {
	for _, v := range all {
		for i := range v {
			v[i] = 1
		}
	}
}

func asBytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// give sends and waits until what was sent may be changed, as a rank does that receives
// nothing in a round.
func (m *meter) give(to int, v []float32) error {
	if err := m.send(to, v); err != nil {
		return err
	}
	return m.ends.Flush(to)
}

// add is a sum as package collective does it.
var add = cpu.Columns[float32](kernels.Add)
