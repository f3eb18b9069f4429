package mpi

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

// fakeJob is an MPI job within this process. It takes what MPI may take: bytes are read
// from a send's buffer when the receive is tested, and a synchronous send is finished
// after its receive.
type fakeJob struct {
	mu    sync.Mutex
	procs []*fakeProc
	next  handle
	sends map[handle]*fakeSend // requests and matched messages
	takes map[handle]*fakeTake

	reports bool // probes say that a rank is dead
}

type fakeProc struct {
	t     *testing.T
	inbox []*fakeSend
	dead  bool
	busy  atomic.Bool // a call runs
	ended atomic.Bool
}

type fakeSend struct {
	from, tag int
	data      []byte
	eager     []byte // of a plain send: a copy
	done      bool
}

type fakeTake struct {
	from *fakeSend
	into []byte
	wait int
}

var errPeer = &Error{Call: "MPI_Isend", Code: 75, Text: "process failed"}

func newFakeJob(t *testing.T, n int) *fakeJob {
	j := &fakeJob{sends: map[handle]*fakeSend{}, takes: map[handle]*fakeTake{}}
	for range n {
		j.procs = append(j.procs, &fakeProc{t: t})
	}
	return j
}

// kill ends a rank as a crash would.
func (j *fakeJob) kill(rank int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.procs[rank].dead = true
}

// call is around every call: it fails the test where two run at once, which
// MPI_THREAD_SERIALIZED does not allow, or one comes after the end.
func (j *fakeJob) call(rank int) (end func()) {
	p := j.procs[rank]
	if !p.busy.CompareAndSwap(false, true) {
		p.t.Error("two calls of MPI at once")
	}
	if p.ended.Load() {
		p.t.Error("a call of MPI after MPI_Finalize")
	}
	j.mu.Lock()
	return func() { j.mu.Unlock(); p.busy.Store(false) }
}

func (j *fakeJob) driver(rank int) *driver {
	p := j.procs[rank]
	d := &driver{library: "fake", flavour: flavour{anySource: -7, world: 1}}
	d.initialized = func() (bool, error) { return false, nil }
	d.initialize = func(level) (level, error) { return serialized, nil }
	d.threads = func() (level, error) { return serialized, nil }
	d.finalize = func() error { p.ended.Store(true); return nil }
	d.quiet = func(handle) error { return nil }
	d.rank = func(handle) (int, error) { return rank, nil }
	d.size = func(handle) (int, error) { return len(j.procs), nil }
	d.topTag = func(handle) (int, error) { return 32767, nil }
	d.twin = func(handle) (*twin, error) { return &twin{cell: 2}, nil }
	d.send = func(comm handle, b []byte, to, tag int, synchronous bool) (handle, error) {
		defer j.call(rank)()
		if comm != 2 {
			p.t.Error("a message on a communicator that is not the transport's")
		}
		if p.dead || j.procs[to].dead {
			return 0, errPeer
		}
		m := &fakeSend{from: rank, tag: tag, data: b}
		if !synchronous {
			m.eager, m.done = append([]byte{}, b...), true
		}
		j.procs[to].inbox = append(j.procs[to].inbox, m)
		j.next++
		j.sends[j.next] = m
		return j.next, nil
	}
	d.probe = func(_ handle, from, tag int) (handle, int, bool, error) {
		defer j.call(rank)()
		for r, other := range j.procs {
			if j.reports && other.dead && (from == r || from == d.flavour.anySource) {
				return 0, 0, false, errPeer
			}
		}
		for i, m := range p.inbox {
			if m.tag == tag && (from == d.flavour.anySource || from == m.from) && !p.dead {
				p.inbox = append(p.inbox[:i:i], p.inbox[i+1:]...)
				j.next++
				j.sends[j.next] = m
				return j.next, len(m.data), true, nil
			}
		}
		return 0, 0, false, nil
	}
	d.receive = func(message handle, b []byte) (handle, error) {
		defer j.call(rank)()
		j.next++
		j.takes[j.next] = &fakeTake{from: j.sends[message], into: b, wait: int(j.next % 3)}
		delete(j.sends, message)
		return j.next, nil
	}
	d.finished = func(request *handle) (bool, error) {
		if *request == 0 { // the twin's
			return true, nil
		}
		defer j.call(rank)()
		if m := j.sends[*request]; m != nil {
			if m.done {
				delete(j.sends, *request)
			}
			return m.done, nil
		}
		r := j.takes[*request]
		if r == nil {
			return false, errors.New("a test of a request that is not there")
		}
		if r.wait--; r.wait >= 0 {
			return false, nil
		}
		if r.from.eager != nil {
			copy(r.into, r.from.eager)
		} else {
			copy(r.into, r.from.data)
		}
		r.from.done = true
		delete(j.takes, *request)
		return true, nil
	}
	return d
}
