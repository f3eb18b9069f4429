package tune

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/inproc"
)

func TestState(t *testing.T) {
	one := State{Short: 150e-9, Lines: 1.2e-6, Loop: 600e-9}
	for _, x := range []struct {
		other State
		same  bool
	}{
		{one, true},
		{State{}, true},
		{State{Lines: 1.4e-6, Loop: 500e-9}, true},
		{State{Short: 100e-9, Lines: 1.2e-6, Loop: 600e-9}, false}, // two threads of a core
		{State{Short: 150e-9, Lines: 4.9e-6, Loop: 600e-9}, false}, // two caches
		{State{Loop: 1.1e-6}, false},                               // beside others
	} {
		if one.Is(x.other) != x.same || x.other.Is(one) != x.same {
			t.Errorf("%+v is %+v: not %v", x.other, one, x.same)
		}
	}
	other := State{Lines: 4.9e-6, Loop: 600e-9}
	seen := []State{other, one, one, one, other, other, other}
	if s := most(seen, State{}); s != other {
		t.Errorf("the most frequent of %+v: %+v", seen, s)
	}
	if s := most(seen, State{Loop: 610e-9, Lines: 1.3e-6}); s != one {
		t.Errorf("the one of %+v that is preferred: %+v", seen, s)
	}
	if s := most(seen, State{Loop: 1.1e-6}); s != other {
		t.Errorf("none of %+v is preferred: %+v", seen, s)
	}
}

// hosts has two ranks call f, of which rank 0 sees the states, the last one again and again.
func hosts(t *testing.T, want State, left time.Duration, states []State, f func(h *host) error) *host {
	t.Helper()
	ends := inproc.New(2)
	all, errs := make([]*host, 2), make([]error, 2)
	var ranks sync.WaitGroup
	for r := range ends {
		h := &host{m: (&meter{}).over(ends[r]), left: left, last: time.Now()}
		h.State, all[r] = want, h
		n := 0
		h.see = func() (State, error) {
			n++
			if r > 0 {
				return State{}, nil
			}
			return states[min(n, len(states))-1], nil
		}
		ranks.Go(func() { errs[r] = f(h) })
	}
	ranks.Wait()
	if err := errors.Join(errs[0], errs[1], ends[0].Close(), ends[1].Close()); err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// What runs while the host is in another state runs again, on all ranks, unless there is no more time.
func TestSteadyHost(t *testing.T) {
	near, far := State{Lines: 1e-6}, State{Lines: 5e-6}
	var mu sync.Mutex
	for _, x := range []struct {
		name   string
		left   time.Duration
		states []State
		runs   int // of both ranks
		apart  int
	}{
		{"always the same", time.Hour, []State{near}, 2, 0},
		{"at first another", time.Hour, []State{far, far, near}, 2, 0},
		{"another after the first run", time.Hour, []State{near, far, near}, 4, 0},
		{"another, and no time", 1, []State{far}, 2, 1},
	} {
		runs := 0
		h := hosts(t, near, x.left, x.states, func(h *host) error {
			return h.steady(func() error {
				mu.Lock()
				defer mu.Unlock()
				runs++
				return nil
			})
		})
		if runs != x.runs || h.Units != 1 || h.Apart != x.apart {
			t.Errorf("%s: %d runs, %d of %d apart", x.name, runs, h.Apart, h.Units)
		}
	}
	moved := hosts(t, near, time.Hour, []State{far, far, far, near}, func(h *host) error {
		h.last = h.last.Add(-2 * goneAfter)
		if err := h.steady(func() error { return errors.New("it ran") }); err != errMoved {
			return err
		}
		return h.choose(State{})
	})
	if moved.State != near || moved.Units != 0 {
		t.Errorf("%+v after the host was gone", moved.Host)
	}
	wrong := errors.New("wrong")
	if err := (*host)(nil).steady(func() error { return wrong }); err != wrong {
		t.Errorf("%v", err)
	}
}

// Ranks see a state, of more ranks than two, and are done with looking when their context ends.
func TestGlance(t *testing.T) {
	ends := inproc.New(3)
	all, errs := make([]State, 3), make([]error, 3)
	var ranks sync.WaitGroup
	for r := range ends {
		ranks.Go(func() {
			v := make([]float32, 8<<10/4)
			h := &host{m: (&meter{in: v, out: v}).over(ends[r])}
			all[r], errs[r] = h.glance()
		})
	}
	ranks.Wait()
	if s := all[0]; errors.Join(errs...) != nil || s.Short <= 0 || s.Lines <= 0 || s.Loop <= 0 {
		t.Errorf("%+v, %v", s, errs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for r := range ends {
		ranks.Go(func() { _, errs[r] = newHost(ctx, ends[r], State{}, 1) })
	}
	ranks.Wait()
	for r, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d looks although its context has ended: %v", r, err)
		}
	}
	for _, e := range ends {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
