package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/volley-go/volley/device"
)

// Faults makes a call that works under every fault that it can meet: each of
// its allocations failing in turn, which must be an ErrOutOfMemory, and its
// context ending at each moment that it looks, which must be an ErrCanceled if
// it is an error at all. After every one nothing may be leaked or changed.
func (s *Suite) Faults(c Call, f func(*Env) (Result, error)) {
	s.Helper()
	if s.over() {
		return
	}
	if s.extent == Least {
		return
	}
	if s.extent == Tiny || raceDetector && !s.planted { // each type once, and a long column
		what := fmt.Sprint(s.kernel, c.Case.Type, c.Types, c.Case.Length > 1000)
		if s.faulted[what] {
			return
		}
		s.faulted[what] = true
	}
	what := fmt.Sprintf("%s(%s) %s seed=%d", s.kernel, c.Note, c.Case, s.seed)
	s.FailEveryAllocation(what, c, f)
	s.CancelEverywhere(what, c.Case.Length, f)
	s.unchanged(what)
}

// maxFaults ends a call that would allocate without end.
const maxFaults = 10_000

// FailEveryAllocation makes a call that works again and again, letting its
// first, second, … allocation fail, until it meets no failure any more: then,
// after all those, a call that is not long must give the reference's result.
func (s *Suite) FailEveryAllocation(what string, c Call, f func(*Env) (Result, error)) {
	s.Helper()
	m := s.tested.memory
	defer m.failAt.Store(0)
	each := int64(50) // from then on a sample, of many that are alike
	if s.extent == Tiny && c.Case.Length > 1000 {
		each = 10 // a short column had each
	}
	for n := int64(1); ; n++ {
		m.calls.Store(0)
		m.failAt.Store(n)
		r, err := s.tested.call(context.Background(), f)
		met := m.calls.Load() >= n
		if !met && err == nil && c.Case.Length < 1000 {
			want, wantErr := s.reference.call(context.Background(), f)
			if wantErr == nil {
				wantErr = compare(r, want, c.Tol)
			}
			if wantErr != nil {
				s.Errorf("%s: after %d failed allocations: %v", what, n-1, wantErr)
			}
			want.Release()
		}
		r.Release()
		s.untouched(what)
		s.noLeak(fmt.Sprintf("%s: allocation %d failing", what, n), s.tested)
		switch {
		case met && err == nil:
			s.Errorf("%s: allocation %d failed, but the call did not", what, n)
		case met && !errors.Is(err, device.ErrOutOfMemory):
			s.Errorf("%s: allocation %d failed, and the call with %q, which is no ErrOutOfMemory", what, n, err)
		case !met && err != nil && !without(err, nil):
			s.Errorf("%s: %v", what, err)
		}
		if !met || s.Failed() {
			return
		}
		if n == maxFaults {
			s.Errorf("%s: more than %d allocations", what, n)
			return
		}
		if n > each {
			n += n / 5
		}
	}
}

// CancelEverywhere makes a call that works again and again with a context that
// ends when it is looked at for the first, second, … time, until that is later
// than the call. A call on several morsels must look several times.
func (s *Suite) CancelEverywhere(what string, rows int64, f func(*Env) (Result, error)) {
	s.Helper()
	for n := 0; n < maxFaults; n += 1 + n/10 {
		ctx := &countdown{Context: context.Background(), left: n, done: make(chan struct{})}
		r, err := s.tested.call(ctx, f)
		r.Release()
		s.untouched(what)
		s.noLeak(fmt.Sprintf("%s: canceled at look %d", what, n), s.tested)
		if err != nil && !errors.Is(err, device.ErrCanceled) && !without(err, nil) {
			s.Errorf("%s: canceled at look %d: %q is no ErrCanceled", what, n, err)
		}
		morsels := rows > 2*Morsel && s.tested.onHost() // elsewhere, nothing looks into what was launched
		if err == nil && ctx.ended() && (n == 0 || morsels && n == 2) {
			s.Errorf("%s: ran on under a context that was found canceled at look %d", what, n)
		}
		if morsels && n <= 2 && !ctx.ended() {
			s.Errorf("%s: looked at its context only %d times for %d rows", what, n, rows)
		}
		if !ctx.ended() || s.Failed() {
			return
		}
	}
}

// Peak is the most memory that a call held at once, its result included and
// its arguments not, in bytes.
func (s *Suite) Peak(f func(*Env) (Result, error)) int64 {
	s.Helper()
	m := s.tested.memory
	m.mu.Lock()
	m.bytes, m.peak = 0, 0
	m.mu.Unlock()
	r, err := s.tested.call(context.Background(), f)
	if err != nil {
		s.Errorf("%s: %v (seed %d)", s.kernel, err, s.seed)
	}
	r.Release()
	return m.peak
}

// countdown is a context that ends at the left-th look at it.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func (c *countdown) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Err counts down.
func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended() {
		return context.Canceled
	}
	if c.left--; c.left < 0 {
		close(c.done)
		return context.Canceled
	}
	return nil
}

// Done is closed when the countdown is over.
func (c *countdown) Done() <-chan struct{} { return c.done }
