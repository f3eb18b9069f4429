package mpi

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// greeting is a hello that came: of a group's name, from a rank of the job.
type greeting struct {
	key  key
	from int
}

// flight is a request that is not finished, with the memory it uses.
type flight struct {
	request handle
	buf     *buffer
	peer    int // the rank of the job that it is for, -1 where that is not known
	taking  bool
}

// site is a process's part of an MPI job: all ends of its groups, and the lock under
// which MPI is called.
type site struct {
	d       *driver
	ready   chan struct{} // closed when MPI has started, or failed
	failure error         // why it failed
	own     bool          // MPI was started here, so it ends here
	end     chan struct{} // closed by Finalize: the minder calls MPI_Finalize
	ended   chan struct{} // closed when that has returned
	endErr  error

	mu      sync.Mutex
	comm    handle
	twin    *twin // comm's
	rank    int
	size    int
	topTag  int
	nextTag int
	over    bool              // MPI has been ended, or is being
	ends    map[int]*endpoint // by own tag: open, or others may still send to them
	trash   []int             // tags of groups that did not come about here
	hellos  map[greeting]int
	flights []*flight // sent notes, notes that are coming, segments that nobody takes
	waiting []int     // control messages under way by rank
	told    []uint32  // control messages sent by rank
	inbox   []inbox   // by rank
	gone    []error   // what the library said of a rank
	pool    pool
}

// newSite starts MPI on a goroutine of its own, which keeps its thread: MPI wants to be
// ended by the one that it was started by.
func newSite(d *driver) *site {
	s := &site{d: d, ready: make(chan struct{}), end: make(chan struct{}), ended: make(chan struct{}), nextTag: controlTag + 1,
		ends: map[int]*endpoint{}, hellos: map[greeting]int{}}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		s.failure = s.start()
		close(s.ready)
		if s.failure == nil {
			s.mind()
			if s.own {
				s.endErr = d.finalize()
			}
		}
		close(s.ended)
	}()
	return s
}

// start waits for all ranks of the job.
func (s *site) start() error {
	d := s.d
	running, err := d.initialized()
	if err != nil {
		return err
	}
	var got level
	want := serialized
	if running {
		want = multiple // others call MPI when they like
		got, err = d.threads()
	} else {
		got, err = d.initialize(serialized)
	}
	if err != nil {
		return err
	}
	if got < want {
		return fmt.Errorf("%s gives %s, and %s is needed", d.library, levelNames[got], levelNames[want])
	}
	world := d.flavour.world
	if !running { // else its errors are the program's
		if err := d.quiet(world); err != nil {
			return err
		}
	}
	if s.rank, err = d.rank(world); err != nil {
		return err
	}
	if s.size, err = d.size(world); err != nil {
		return err
	}
	if s.topTag, err = d.topTag(world); err != nil {
		return err
	}
	s.waiting, s.told, s.inbox, s.gone = make([]int, s.size), make([]uint32, s.size), make([]inbox, s.size), make([]error, s.size)
	t, err := d.twin(world)
	if err != nil {
		return err
	}
	s.twin = t
	for wait := (pauses{}); ; wait.next() {
		done, err := d.finished(&t.request)
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	s.comm, s.own = t.cell, !running
	return d.quiet(s.comm)
}

// pauses are the times between two looks: none at first, then up to half a
// millisecond.
type pauses struct{ looks int }

func (p *pauses) next() {
	p.looks++
	if p.looks <= 256 {
		runtime.Gosched()
		return
	}
	time.Sleep(min(10*time.Microsecond<<min((p.looks-256)/16, 6), 500*time.Microsecond))
}

// mind looks after everything beside the lanes until the site ends: often while
// something is under way, else every 2 ms.
func (s *site) mind() {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-s.end:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		busy := s.progress()
		s.mu.Unlock()
		if busy {
			tick.Reset(100 * time.Microsecond)
		} else {
			tick.Reset(2 * time.Millisecond)
		}
	}
}

// progress takes and sends what can be at once, and says whether more is under way. The
// lock is held.
func (s *site) progress() bool {
	came := s.takeControls()
	s.land()
	busy := came || len(s.flights) > 0
	for _, tag := range s.trash {
		s.drain(tag)
	}
	for tag, e := range s.ends {
		if e.draining() {
			s.drain(tag)
		}
		if e.pump() {
			busy = true
		}
		if e.closed && e.depart() {
			delete(s.ends, tag)
		}
	}
	return busy
}

// takeControls begins to receive the control messages that are there.
func (s *site) takeControls() bool {
	for range 256 {
		m, n, ok := s.next(controlTag)
		if !ok {
			return false
		}
		s.take(m, n, true)
	}
	return true
}

// next is the first message of a tag, of any rank. A library that reports failures may
// refuse to look for any rank's after one: then each that is left is asked for, which
// also says who is gone.
func (s *site) next(tag int) (m handle, n int, ok bool) {
	m, n, ok, err := s.d.probe(s.comm, s.d.flavour.anySource, tag)
	if err == nil {
		return m, n, ok
	}
	for r := range s.size {
		if r == s.rank || s.gone[r] != nil {
			continue
		}
		switch m, n, ok, err = s.d.probe(s.comm, r, tag); {
		case err != nil:
			s.lost(r, err)
		case ok:
			return m, n, true
		}
	}
	return 0, 0, false
}

// drain receives messages that nobody takes any more, so that their senders are free.
func (s *site) drain(tag int) {
	for range 16 {
		m, n, ok := s.next(tag)
		if !ok {
			return
		}
		s.take(m, n, false)
	}
}

func (s *site) take(m handle, n int, control bool) {
	f := &flight{buf: s.pool.get(n), peer: -1, taking: control}
	var err error
	if f.request, err = s.d.receive(m, f.buf.b); err != nil {
		return // its sender is gone, which its silence tells
	}
	switch done, err := s.d.finished(&f.request); {
	case err != nil:
	case done:
		s.landed(f)
	default:
		s.flights = append(s.flights, f)
	}
}

// land tests what is under way.
func (s *site) land() {
	left := s.flights[:0]
	for _, f := range s.flights {
		done, err := s.d.finished(&f.request)
		switch {
		case err != nil && f.peer >= 0:
			s.waiting[f.peer]--
			s.lost(f.peer, err)
		case err != nil: // its sender is gone, which its silence tells
		case done:
			if f.peer >= 0 {
				s.waiting[f.peer]--
			}
			s.landed(f)
		default:
			left = append(left, f)
		}
	}
	clear(s.flights[len(left):])
	s.flights = left
}

func (s *site) landed(f *flight) {
	if f.taking {
		if c, ok := parse(f.buf.b, s.size); ok {
			s.heard(&c)
		}
	}
	s.pool.put(f.buf)
}

// lost notes that the library cannot reach a rank.
func (s *site) lost(peer int, err error) {
	if s.gone[peer] != nil {
		return
	}
	s.gone[peer] = err
	for _, e := range s.ends {
		if i, ok := e.place[peer]; ok {
			e.lose(i, err)
		}
	}
}

// maxControls bounds the messages kept for a rank that takes none: heartbeats of an
// hour.
const maxControls = 4096

// tell sends a control message. The lock is held.
func (s *site) tell(to int, c *control) error {
	if err := s.gone[to]; err != nil {
		return &Lost{to, err}
	}
	if s.waiting[to] >= maxControls {
		return fmt.Errorf("mpi: rank %d takes no notes: %d wait for it", to, s.waiting[to])
	}
	c.from, c.seq = s.rank, s.told[to]
	f := &flight{buf: s.pool.get(controlLen + len(c.text)), peer: to}
	c.put(f.buf.b)
	var err error
	if f.request, err = s.d.send(s.comm, f.buf.b, to, controlTag, false); err != nil {
		s.lost(to, err)
		return &Lost{to, err}
	}
	s.waiting[to]++
	s.told[to]++
	s.flights = append(s.flights, f)
	return nil
}

// Lost is what a call returns that needs a rank which is gone.
type Lost struct {
	Rank int   // in the group of the call, or of the job where there is none yet
	Err  error // transport.ErrLeft, or what the library says
}

// Error names the rank.
func (l *Lost) Error() string { return fmt.Sprintf("mpi: rank %d is lost: %v", l.Rank, l.Err) }

// Unwrap is how.
func (l *Lost) Unwrap() error { return l.Err }

var _ transport.Endpoint = (*endpoint)(nil)
