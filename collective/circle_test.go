package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// Calls that differ and send each other nothing end with one Fault that names them, long
// before the timeout.
func TestCircles(t *testing.T) {
	ctx := context.Background()
	vector := func(n int) Vector { return Of(make([]float32, n)) }
	const long = 1 << 20
	sum := func(c *Comm) error {
		v := vector(100)
		err := c.AllReduce(ctx, v, v, Sum)
		if err == nil { // its part was done before the others knew
			err = c.Barrier(ctx)
		}
		return err
	}
	sub := func(ranks ...int) func(c *Comm) error {
		return func(c *Comm) error {
			s, err := c.Sub(ctx, ranks)
			if err == nil {
				err = errors.Join(errors.New("it has a Comm"), s.Close())
			}
			return err
		}
	}
	send := func(n, to int) func(c *Comm) error {
		return func(c *Comm) error {
			err := c.Send(ctx, vector(n), to)
			if err == nil { // it was taken for what it is not
				err = sum(c)
			}
			return err
		}
	}
	recv := func(n, from int) func(c *Comm) error {
		return func(c *Comm) error { return c.Recv(ctx, vector(n), from) }
	}
	for name, k := range map[string]struct {
		calls []func(c *Comm) error
		ranks []int
		says  []string
	}{
		"recvs": {[]func(c *Comm) error{recv(5, 1), recv(6, 0)}, []int{0, 1},
			[]string{"SendRecv of rank 0 (receives 5 float32) waits for rank 1", "SendRecv of rank 1 (receives 6 float32) waits for rank 0"}},
		"three recvs":  {[]func(c *Comm) error{recv(5, 1), recv(6, 2), recv(7, 0)}, []int{0, 1, 2}, []string{"rank 2 (receives 7 float32) waits for rank 0"}},
		"sends":        {[]func(c *Comm) error{send(long, 1), send(long, 2), send(long, 0)}, nil, nil},
		"send and sum": {[]func(c *Comm) error{send(long, 2), sum, sum, sum}, nil, []string{"SendRecv", "AllReduce #1"}},
		"recv and sum": {[]func(c *Comm) error{recv(3, 2), sum, sum, sum}, nil, []string{"SendRecv", "AllReduce #1"}},
		"recv and barrier": {[]func(c *Comm) error{func(c *Comm) error { return c.Barrier(ctx) }, func(c *Comm) error { return c.Recv(ctx, vector(3), 0) }}, nil,
			[]string{"SendRecv", "Barrier #1"}},
		"subs in another order": {[]func(c *Comm) error{sub(0, 1), sub(1, 0)}, []int{0, 1}, []string{"sub [0 1] of rank 0 waits for rank 1", "sub [1 0] of rank 1 waits for rank 0"}},
		"subs of other ranks":   {[]func(c *Comm) error{sub(0, 1, 2), sub(0, 1), sub(0, 1, 2)}, nil, []string{"sub [0 1] of rank 1", "sub [0 1 2] of rank 0"}},
		"subs around":           {[]func(c *Comm) error{sub(0, 1), sub(1, 2), sub(2, 0)}, []int{0, 1, 2}, []string{"sub [2 0] of rank 2 waits for rank 0"}},
		"sub and sum":           {[]func(c *Comm) error{sub(0, 1, 2), sum, sum}, nil, []string{"sub [0 1 2] of rank 0 waits for rank 1", "AllReduce #1"}},
		"sub and recv":          {[]func(c *Comm) error{sub(0, 1), recv(4, 0)}, []int{0, 1}, []string{"sub [0 1] of rank 0 waits for rank 1", "receives 4 float32"}},
		"split and sum": {[]func(c *Comm) error{func(c *Comm) error { return second(c.Split(ctx, 0, 0)) }, sum, sum}, nil,
			[]string{"AllGather #1 of rank 0", "AllReduce #1"}},
	} {
		for carrier, open := range transports {
			t.Run(name+"/"+carrier, func(t *testing.T) {
				t.Parallel()
				comms := over(t, open(t, len(k.calls)), quick)
				errs := each(t, comms, func(c *Comm) error { return k.calls[c.Rank()](c) })
				var first *Fault
				for r, err := range errs {
					var f *Fault
					if !errors.As(err, &f) || f.Cause != Mismatch || !errors.Is(err, device.ErrMismatch) {
						t.Fatalf("rank %d: %v", r, err)
					}
					if first == nil {
						first = f
					}
					if f.Error() != first.Error() || k.ranks != nil && !slices.Equal(f.Ranks, k.ranks) {
						t.Errorf("rank %d: %v; and %v", r, f, first)
					}
				}
				for _, says := range k.says {
					if !strings.Contains(first.Text, says) {
						t.Errorf("%q is not in: %v", says, first)
					}
				}
			})
		}
	}
}

// Ranks that are long in coming, or send much, are in no circle.
func TestNoCircles(t *testing.T) {
	ctx := context.Background()
	o := quick
	o.Heartbeat = 5 * time.Millisecond
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comms := over(t, open(t, 3), o)
			must(t, comms, func(c *Comm) error {
				n := c.Size()
				next, before := (c.Rank()+1)%n, (c.Rank()+n-1)%n
				for i := range 6 {
					if i%n == c.Rank() {
						time.Sleep(60 * time.Millisecond)
					}
					long := []int{1, 1 << 22}[i%2]
					if err := c.Exchange(ctx, []Transfer{{Peer: next, Data: Of(make([]byte, long))}, {Peer: before, Data: Of(make([]byte, long)), Recv: true}}); err != nil {
						return err
					}
					if i%n == c.Rank() {
						time.Sleep(60 * time.Millisecond)
					}
					v := Of(make([]float64, long/8+1))
					if err := c.AllReduce(ctx, v, v, Sum); err != nil {
						return err
					}
					if (i+1)%n == c.Rank() {
						time.Sleep(60 * time.Millisecond)
					}
					s, err := c.Sub(ctx, []int{2, 0, 1})
					if err != nil {
						return err
					}
					if err := errors.Join(s.Barrier(ctx), s.Close()); err != nil {
						return err
					}
					if c.Rank() == 1 {
						time.Sleep(60 * time.Millisecond)
						err = c.Recv(ctx, Of(make([]byte, long)), 0)
					} else if c.Rank() == 0 {
						err = c.Send(ctx, Of(make([]byte, long)), 1)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// A rank that never comes to a group, or to a Recv, is named by the timeout; one that is
// lost meanwhile by that.
func TestGroupsEnd(t *testing.T) {
	ctx := context.Background()
	o := quick
	o.Timeout = 300 * time.Millisecond
	for name, call := range map[string]func(c *Comm) error{
		"sub":  func(c *Comm) error { return second(c.Sub(ctx, []int{0, 1})) },
		"recv": func(c *Comm) error { return c.Recv(ctx, Of(make([]float32, 9)), 1) },
	} {
		comms := world(t, 3, o)
		errs := each(t, comms[:1], call)
		f := sameFault(t, errs, []int{0}, Timeout, []int{1})
		if !strings.Contains(f.Text, "of rank 0") || !strings.Contains(f.Text, "waits for it") {
			t.Errorf("%s: %v", name, f)
		}
	}
	comms := world(t, 3, quick)
	time.AfterFunc(50*time.Millisecond, func() { comms[2].Close() })
	for r, err := range each(t, comms[:2], func(c *Comm) error { return second(c.Sub(ctx, []int{0, 1, 2})) }) {
		if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "rank 2 cannot come") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
