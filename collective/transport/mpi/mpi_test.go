package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// join makes the sites of n ranks of a fake job, and their ends of its world.
func join(t *testing.T, n int) (*fakeJob, []*site, []*endpoint) {
	t.Helper()
	j := newFakeJob(t, n)
	sites, ends, errs := make([]*site, n), make([]*endpoint, n), make([]error, n)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all sync.WaitGroup
	for r := range n {
		sites[r] = newSite(j.driver(r))
		all.Go(func() {
			w := rendezvous.World{Rank: r, Size: n, Address: rendezvous.MPI}
			ends[r], errs[r] = sites[r].join(ctx, w, "")
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return j, sites, ends
}

// finalize ends sites whose ends are closed.
func finalize(t *testing.T, sites []*site) {
	t.Helper()
	errs := make([]error, len(sites))
	var all sync.WaitGroup
	for r, s := range sites {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			errs[r] = s.finalize(ctx)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// TestTransport runs the suite, after which nothing is left under way: all ranks end.
func TestTransport(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
		_, sites, ends := join(t, n)
		t.Cleanup(func() {
			for _, e := range ends { // that a test has not closed
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
			finalize(t, sites)
		})
		all := make([]transporttest.End, n)
		for r, e := range ends {
			all[r] = transporttest.End{Endpoint: e}
		}
		return all
	})
}

func TestJoinNamesWhatIsWrong(t *testing.T) {
	j := newFakeJob(t, 3)
	s := newSite(j.driver(0))
	<-s.ready
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := s.join(ctx, rendezvous.World{}, "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "missing ranks 1, 2 of 3") {
		t.Errorf("Join alone: %v", err)
	}
	if _, err := s.join(ctx, rendezvous.World{Rank: 1, Size: 3}, ""); err == nil || !strings.Contains(err.Error(), "rank 0 of 3, and the environment rank 1 of 3") {
		t.Errorf("Join as another rank: %v", err)
	}
	if _, err := Join(ctx, rendezvous.World{Size: 2, Address: "tcp://h:1"}, Options{}); err == nil || !strings.Contains(err.Error(), "not at tcp://h:1") {
		t.Errorf("Join elsewhere: %v", err)
	}
	finalize(t, []*site{s})
}

// TestThreads refuses a library that allows calls from one thread only.
func TestThreads(t *testing.T) {
	for _, c := range []struct {
		running bool
		level   level
		fails   bool
	}{{false, funneled, true}, {false, serialized, false}, {true, serialized, true}, {true, multiple, false}} {
		j := newFakeJob(t, 1)
		d := j.driver(0)
		d.initialized = func() (bool, error) { return c.running, nil }
		d.initialize = func(level) (level, error) { return c.level, nil }
		d.threads = func() (level, error) { return c.level, nil }
		s := newSite(d)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		e, err := s.join(ctx, rendezvous.World{}, "")
		if (err != nil) != c.fails || c.fails && !strings.Contains(err.Error(), levelNames[c.level]) {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil {
			if err := errors.Join(e.Close(), s.finalize(ctx)); err != nil {
				t.Error(err)
			}
			if ended := j.procs[0].ended.Load(); ended == c.running {
				t.Errorf("%+v: MPI ended here: %t", c, ended)
			}
		}
		cancel()
	}
}

// TestInterruptedPayload: after an interruption nobody reads what was posted, and the
// ranks can still leave.
func TestInterruptedPayload(t *testing.T) {
	_, sites, ends := join(t, 2)
	payload := make([]byte, 32*segmentLen) // more than the window
	h := &transport.Header{Seq: 1, Len: int64(len(payload))}
	if err := ends[0].Post(1, h, payload); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { ends[0].Interrupt(why) })
	if err := ends[0].Flush(1); !errors.Is(err, why) {
		t.Fatalf("Flush returns %v", err)
	}
	for i := range payload {
		payload[i] = 1
	}
	got := make([]byte, len(payload))
	time.AfterFunc(200*time.Millisecond, func() { ends[1].Interrupt(why) })
	if err := ends[1].Recv(0, h, &transport.Sink{Into: got}); !errors.Is(err, why) {
		t.Errorf("Recv of a message that was cut off returns %v", err)
	}
	for i, b := range got {
		if b != 0 {
			t.Fatalf("byte %d was read after the interruption", i)
		}
	}
	for _, e := range ends {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	finalize(t, sites)
}

// TestWindow bounds what a sender has under way to a rank that does not receive.
func TestWindow(t *testing.T) {
	j, sites, ends := join(t, 2)
	payload := make([]byte, 100)
	for i := range 3 * window {
		if err := ends[0].Post(1, &transport.Header{Seq: uint64(i + 1), Len: 100}, payload); err != nil {
			t.Fatal(err)
		}
	}
	j.mu.Lock()
	under := 0
	for _, m := range j.procs[1].inbox {
		if m.tag != controlTag {
			under++
		}
	}
	j.mu.Unlock()
	if under != window {
		t.Errorf("%d segments are under way, not %d", under, window)
	}
	for i := range 3 * window {
		if err := ends[1].Recv(0, &transport.Header{Seq: uint64(i + 1), Len: 100}, &transport.Sink{Into: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ends[0].Flush(1); err != nil {
		t.Error(err)
	}
	for _, e := range ends {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	finalize(t, sites)
}

// TestPeerDies: what the library says of a rank ends its lanes and is told by a note;
// the others can split off; Finalize does not wait for the dead.
func TestPeerDies(t *testing.T) {
	t.Run("silent", func(t *testing.T) { peerDies(t, false) })
	t.Run("reported", func(t *testing.T) { peerDies(t, true) })
}

func peerDies(t *testing.T, reports bool) {
	j, sites, ends := join(t, 3)
	j.mu.Lock()
	j.reports = reports
	j.mu.Unlock()
	j.kill(2)
	if err := ends[0].Signal(2, []byte("there?")); !errors.Is(err, errPeer) {
		t.Errorf("a note to the dead: %v", err)
	}
	select {
	case n := <-ends[0].Notes():
		if n.From != 2 || !errors.Is(n.Err, errPeer) {
			t.Errorf("note %+v", n)
		}
	case <-time.After(limit):
		t.Error("nobody tells that rank 2 is gone")
	}
	var lost *Lost
	if err := ends[0].Post(2, &transport.Header{Seq: 1}, nil); !errors.As(err, &lost) || lost.Rank != 2 {
		t.Errorf("Post to the dead: %v", err)
	}
	if err := ends[1].Post(2, &transport.Header{Seq: 1, Len: 1}, []byte{1}); err != nil && !(reports && errors.As(err, &lost)) {
		t.Fatal(err) // it hears of it by this one, or has by a probe
	}
	if err := ends[1].Recv(2, &transport.Header{Seq: 1, Len: 1}, &transport.Sink{Into: make([]byte, 1)}); !errors.As(err, &lost) || lost.Rank != 2 {
		t.Errorf("Recv from the dead: %v", err)
	}
	errs := make([]error, 2)
	var all sync.WaitGroup
	for r := range 2 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			s, err := ends[r].Split(ctx, "survivors", []int{0, 1})
			if err == nil && s.Rank() != r {
				err = fmt.Errorf("rank %d is %d", r, s.Rank())
			}
			if err == nil {
				err = s.Close()
			}
			errs[r] = errors.Join(err, ends[r].Close())
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	finalize(t, sites[:2])
}

// TestOver: nothing calls MPI after its end, which a group that is open holds up.
func TestOver(t *testing.T) {
	_, sites, ends := join(t, 2)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := sites[0].finalize(ctx); !errors.Is(err, errOpen) {
		t.Errorf("Finalize before Close: %v", err)
	}
	for _, e := range ends {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	finalize(t, sites)
	finalize(t, sites) // once more does nothing
	if _, err := sites[0].join(ctx, rendezvous.World{}, "again"); !errors.Is(err, errOver) {
		t.Errorf("Join after Finalize: %v", err)
	}
	if _, err := ends[1].Split(ctx, "again", []int{1}); !errors.Is(err, errOver) {
		t.Errorf("Split after Finalize: %v", err)
	}
	h := &transport.Header{Seq: 1, Len: 1}
	err := errors.Join(ends[0].Signal(1, []byte("late")), ends[0].Close())
	if err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"Post": ends[0].Post(1, h, []byte{1}), "Recv": ends[0].Recv(1, h, &transport.Sink{Into: make([]byte, 1)})} {
		if !errors.Is(err, transport.ErrLeft) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestSplitTakenBack: a member that gives up is one that has left to those who had met
// it, and the same name serves again.
func TestSplitTakenBack(t *testing.T) {
	_, sites, ends := join(t, 2)
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	if _, err := ends[0].Split(short, "both", []int{0, 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Split alone: %v", err)
	}
	cancel()
	errs := make([]error, 2)
	var all sync.WaitGroup
	for r, e := range ends {
		all.Go(func() {
			if r == 0 {
				time.Sleep(20 * time.Millisecond) // rank 1 must not take the hello that was taken back
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			s, err := e.Split(ctx, "both", []int{0, 1})
			if err != nil {
				errs[r] = err
				return
			}
			h := &transport.Header{Seq: 1, Len: 3}
			err = s.Post(1-r, h, []byte{1, 2, 3})
			if err == nil {
				err = s.Recv(1-r, h, &transport.Sink{Into: make([]byte, 3)})
			}
			errs[r] = errors.Join(err, s.Close(), e.Close())
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	finalize(t, sites)
}
