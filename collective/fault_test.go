package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
)

// quick are options of tests in which nobody falls silent: the deadline is one that a
// rank keeps on a busy machine too.
var quick = Options{Heartbeat: 50 * time.Millisecond, Deadline: limit, Stall: 100 * time.Millisecond}

// patiently runs a trial under longer and longer deadlines until its Fault blames none
// of the ranks that live: on a busy machine they may be late.
func patiently(t *testing.T, trial func(patience time.Duration) (f *Fault, err error), living ...int) *Fault {
	t.Helper()
	for patience := 400 * time.Millisecond; ; patience *= 4 {
		f, err := trial(patience)
		late := f != nil && (f.Cause == Lost || f.Cause == Timeout) && slices.ContainsFunc(living, func(r int) bool { return slices.Contains(f.Ranks, r) })
		if !late || 4*patience > limit/2 {
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		t.Logf("with patience %v: %v", patience, f)
	}
}

// sameFault checks that the survivors all have one and the same Fault.
func sameFault(t *testing.T, errs []error, survivors []int, cause Cause, ranks []int) *Fault {
	t.Helper()
	f, err := agreed(errs, survivors, cause, ranks)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// agreed is the survivors' Fault, or one that should not be and what is wrong.
func agreed(errs []error, survivors []int, cause Cause, ranks []int) (first *Fault, err error) {
	for _, r := range survivors {
		var f *Fault
		if !errors.As(errs[r], &f) {
			return nil, fmt.Errorf("rank %d returns %w, no Fault", r, errs[r])
		}
		if f.Cause != cause || !slices.Equal(f.Ranks, ranks) {
			return f, fmt.Errorf("rank %d: %w; want ranks %v %s", r, f, ranks, cause)
		}
		if first == nil {
			first = f
		}
		if f.Error() != first.Error() {
			return first, fmt.Errorf("two Faults: %w; and %w", f, first)
		}
	}
	return first, nil
}

// A rank that is stopped in the middle of an operation, without a word.
type frozen struct {
	transport.Endpoint
	posts  atomic.Int64
	freeze int64
	ice    chan struct{}
}

func (f *frozen) Post(to int, h *transport.Header, payload []byte) error {
	if f.posts.Add(1) > f.freeze {
		<-f.ice
		return errors.New("thawed")
	}
	return f.Endpoint.Post(to, h, payload)
}

func (f *frozen) Signal(to int, text []byte) error {
	if f.posts.Load() > f.freeze {
		return nil
	}
	return f.Endpoint.Signal(to, text)
}

func TestFrozenRank(t *testing.T) {
	for _, name := range []string{"ring", "butterfly", "doubling", "doubletree", "direct"} {
		for _, at := range []int64{0, 1, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, at), func(t *testing.T) {
				t.Parallel()
				patiently(t, func(patience time.Duration) (*Fault, error) { return frozenTrial(t, name, at, patience) }, 0, 1, 3)
			})
		}
	}
}

// frozenTrial freezes rank 2 of 4 at a message; the others agree on that and go on.
func frozenTrial(t *testing.T, name string, at int64, patience time.Duration) (*Fault, error) {
	o := quick
	o.Deadline = patience
	o.Algorithms = map[algorithm.Op]string{algorithm.AllReduce: name}
	ice := make(chan struct{})
	defer close(ice)
	var comms []*Comm
	for r, e := range inproc.New(4) {
		if r == 2 {
			e = &frozen{Endpoint: e, freeze: at, ice: ice}
		}
		c, err := New(e, o)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		comms = append(comms, c)
	}
	work := func(c *Comm) error {
		v := fill[float32](c.Rank(), 5000)
		for range 4 {
			if err := c.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil {
				return err
			}
		}
		return nil
	}
	go work(comms[2])
	survivors := []*Comm{comms[0], comms[1], comms[3]}
	f, err := agreed(each(t, survivors, work), []int{0, 1, 2}, Lost, []int{2})
	if err != nil {
		return f, err
	}
	if !errors.Is(f, device.ErrLost) || f.Op != "AllReduce" || f.Seq == 0 {
		return f, fmt.Errorf("the Fault is %+v", f)
	}
	shrunk := make([]*Comm, 3)
	for r, err := range each(t, survivors, func(c *Comm) error {
		s, err := c.Shrink(context.Background())
		if err != nil {
			return err
		}
		shrunk[s.Rank()] = s
		v := []int64{1}
		if err := s.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil || v[0] != 3 {
			return fmt.Errorf("after Shrink: %v, %w", v, err)
		}
		return nil
	}) {
		if err != nil {
			late := f
			errors.As(err, &late) // a rank that is lost now is one that was late
			return late, fmt.Errorf("survivor %d: %w", r, err)
		}
	}
	for i, old := range []int{0, 1, 3} {
		if shrunk[i] == nil {
			return f, fmt.Errorf("rank %d has no place after Shrink", old)
		}
		shrunk[i].Close()
	}
	if err := work(comms[0]); !errors.Is(err, device.ErrLost) {
		return f, fmt.Errorf("the old Comm works: %w", err)
	}
	return f, nil
}

func TestMismatchedCalls(t *testing.T) {
	ctx := context.Background()
	f32, f64 := make([]float32, 64), make([]float64, 64)
	for name, call := range map[string]func(c *Comm) error{
		"operation": func(c *Comm) error { return c.Broadcast(ctx, Of(f64), Of(f64), 0) },
		"type":      func(c *Comm) error { return c.AllReduce(ctx, Of(f32), Of(f32), Sum) },
		"length":    func(c *Comm) error { return c.AllReduce(ctx, Of(f64[:9]), Of(f64[:9]), Sum) },
		"reduction": func(c *Comm) error { return c.AllReduce(ctx, Of(f64), Of(f64), Max) },
	} {
		t.Run(name, func(t *testing.T) {
			comms := world(t, 3, quick)
			errs := each(t, comms, func(c *Comm) error {
				if c.Rank() == 1 {
					return call(c)
				}
				v := make([]float64, 64)
				if err := c.AllReduce(ctx, Of(v), Of(v), Sum); err != nil {
					return err
				}
				return c.Barrier(ctx)
			})
			var first *Fault
			for r, err := range errs {
				var f *Fault
				if err == nil && r == 1 {
					continue // it may be through before the others notice
				}
				if !errors.As(err, &f) || !errors.Is(err, device.ErrMismatch) {
					t.Fatalf("rank %d: %v", r, err)
				}
				if !slices.Contains(f.Ranks, 1) || !strings.Contains(f.Text, "AllReduce #1") {
					t.Errorf("rank %d: %v", r, f)
				}
				if first != nil && f.Error() != first.Error() {
					t.Errorf("two Faults: %v; and %v", first, f)
				}
				first = f
			}
		})
	}
}

func TestCancel(t *testing.T) {
	comms := world(t, 4, quick)
	why := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	errs := each(t, comms, func(c *Comm) error {
		v := make([]float64, 100)
		switch c.Rank() {
		case 1:
			time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
			return c.AllReduce(ctx, Of(v), Of(v), Sum)
		case 3:
			<-ctx.Done() // it comes late, so that nothing can be through before
			time.Sleep(50 * time.Millisecond)
		}
		return c.AllReduce(context.Background(), Of(v), Of(v), Sum)
	})
	f := sameFault(t, errs, []int{0, 1, 2, 3}, Canceled, []int{1})
	if !errors.Is(errs[1], why) || !errors.Is(errs[1], device.ErrCanceled) || !errors.Is(errs[0], device.ErrCanceled) {
		t.Errorf("the errors are %v and %v", errs[1], errs[0])
	}
	if f.Text != why.Error() {
		t.Errorf("%v", f)
	}
	must(t, comms, func(c *Comm) error {
		s, err := c.Shrink(context.Background())
		if err != nil {
			return err
		}
		defer s.Close()
		if s.Size() != 4 {
			return fmt.Errorf("%d ranks are left", s.Size())
		}
		return s.Barrier(context.Background())
	})
}

// A rank that is alive but does not come is named, first as a stall, then by the
// timeout.
func TestStallAndTimeout(t *testing.T) {
	patiently(t, func(patience time.Duration) (*Fault, error) {
		var stalls atomic.Int64
		var bad atomic.Value
		o := quick
		o.Timeout, o.Stall = patience, patience/4
		o.OnStall = func(s Stall) {
			stalls.Add(1)
			if s.Waiting != 2 || s.Op != "AllGather" || s.Seq != 1 || s.Elapsed < o.Stall || !slices.Equal(s.Absent, []int{2}) {
				bad.Store(fmt.Sprintf("%+v", s))
			}
		}
		comms := world(t, 3, o)
		errs := each(t, comms[:2], func(c *Comm) error {
			return c.AllGather(context.Background(), Of(make([]int8, 4)), Of(make([]int8, 12)))
		})
		f, err := agreed(errs, []int{0, 1}, Timeout, []int{2})
		if err == nil && (stalls.Load() == 0 || bad.Load() != nil) {
			f = &Fault{Cause: Timeout, Ranks: []int{0, 1}} // one was late at first
			err = fmt.Errorf("%d stalls, %v", stalls.Load(), bad.Load())
		}
		return f, err
	}, 0, 1)
}

func TestRankLeaves(t *testing.T) {
	comms := world(t, 3, quick)
	comms[1].Close()
	errs := each(t, []*Comm{comms[0], comms[2]}, func(c *Comm) error {
		v := make([]float64, 100)
		return c.AllReduce(context.Background(), Of(v), Of(v), Sum)
	})
	sameFault(t, errs, []int{0, 1}, Left, []int{1})
	if err := comms[1].Barrier(context.Background()); !errors.Is(err, device.ErrClosed) {
		t.Errorf("a closed Comm: %v", err)
	}
}

func TestWrongArguments(t *testing.T) {
	comms := world(t, 2, quick)
	c, ctx := comms[0], context.Background()
	v, w := make([]float32, 8), make([]float32, 4)
	for name, err := range map[string]error{
		"root 2":       c.Broadcast(ctx, Of(v), Of(v), 2),
		"output has 4": c.AllReduce(ctx, Of(v), Of(w), Sum),
		"float32":      c.AllReduce(ctx, Of(v), Of(make([]int32, 8)), Sum),
		"overlap":      c.AllReduce(ctx, Of(v[:6]), Of(v[2:]), Sum),
		"2 ranks":      c.AllGatherV(ctx, Of(v), Of(v), []int64{1}),
		"is -1":        c.AllGatherV(ctx, Of(v), Of(v), []int64{9, -1}),
		"and of":       c.AllReduce(ctx, Of(v), Of(v), And),
		"no peer 0":    c.Send(ctx, Of(v), 0),
		"for 2":        c.AllToAll(ctx, Of(v[:3]), Of(w[:3])),
		"twice":        second(c.Sub(ctx, []int{0, 0})),
	} {
		switch {
		case err == nil || !strings.Contains(err.Error(), name):
			t.Errorf("%q is not in: %v", name, err)
		case !errors.Is(err, device.ErrMismatch) && !errors.Is(err, device.ErrUnsupported):
			t.Errorf("%v is of no kind", err)
		}
	}
	must(t, comms, func(c *Comm) error { return c.Barrier(ctx) }) // the Comm goes on
	if _, err := New(inproc.New(1)[0], Options{Algorithms: map[algorithm.Op]string{algorithm.Barrier: "ring"}}); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("an unknown algorithm: %v", err)
	}
	if _, err := New(inproc.New(1)[0], Options{Wire: Int8}); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("int8 on the wire: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestExplain(t *testing.T) {
	comms := world(t, 4, Options{})
	small, large := comms[0].Explain(algorithm.AllReduce, Float32, 2), comms[0].Explain(algorithm.AllReduce, Float32, 1<<24)
	if !strings.Contains(small, "* d") || strings.Contains(small, "* ring") {
		t.Errorf("a few bytes use\n%s", small)
	}
	if !strings.Contains(large, "* ring") && !strings.Contains(large, "* butterfly") {
		t.Errorf("64 MiB use\n%s", large)
	}
	for _, a := range algorithm.For(algorithm.AllReduce) {
		if !strings.Contains(small, a.Name) {
			t.Errorf("%s is missing in\n%s", a.Name, small)
		}
	}
}
