package faultinject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// shrinking runs f on the ranks that survive events, of a group over every transport.
// Who is killed is noticed by its connection: nobody has to be late for that.
func shrinking(t *testing.T, deadline time.Duration, events []Event, f func(ctx context.Context, in *Injector, c *collective.Comm) error) {
	for name, open := range transports(t.TempDir()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, err := open()
			if err != nil {
				t.Fatal(err)
			}
			ends, in := Wrap(plain, events...)
			dead := lost(events)
			errs := make([]error, len(ends))
			var all sync.WaitGroup
			for r, e := range ends {
				all.Go(func() {
					errs[r] = func(e transport.Endpoint) error {
						ctx, cancel := context.WithTimeout(context.Background(), limit)
						defer cancel()
						c, err := collective.New(e, collective.Options{Deadline: deadline})
						if err != nil {
							return err
						}
						defer c.Close()
						if slices.Contains(dead, r) {
							for err == nil {
								err = sums(c)
							}
							in.ends[r].kill() // where the Fault was there before its message
							return nil
						}
						return f(ctx, in, c)
					}(e)
				})
			}
			all.Wait()
			for r, err := range errs {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// until works on a Comm until it has a Fault, which must name these ranks and no others
// among those that count.
func until(c *collective.Comm, dead ...int) error {
	var err error
	for err == nil {
		err = sums(c)
	}
	var f *collective.Fault
	if !errors.As(err, &f) || f.Cause != collective.Lost || !slices.ContainsFunc(dead, func(r int) bool { return slices.Contains(f.Ranks, r) }) {
		return fmt.Errorf("want ranks %v lost: %w", dead, err)
	}
	return nil
}

// shrunk shrinks, and looks at the result.
func shrunk(ctx context.Context, c *collective.Comm, size int) (*collective.Comm, error) {
	s, err := c.Shrink(ctx)
	if err != nil {
		return nil, err
	}
	if s.Size() != size {
		return nil, fmt.Errorf("%d ranks are left, not %d", s.Size(), size)
	}
	return s, sums(s)
}

// Several ranks die at once, before their first message or among them.
func TestShrinkSeveral(t *testing.T) {
	for _, n := range []int64{0, 4} {
		events := []Event{{Rank: 2, N: n, Kind: Kill}, {Rank: 3, N: n, Kind: Kill}}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			shrinking(t, limit, events, func(ctx context.Context, _ *Injector, c *collective.Comm) error {
				if err := until(c, 2, 3); err != nil {
					return err
				}
				s, err := shrunk(ctx, c, 2)
				if err != nil {
					return err
				}
				return errors.Join(s.Barrier(ctx), s.Close())
			})
		})
	}
}

// A rank dies, and another of what is left; the last Comm has the ranks in their old order.
func TestShrinkTwice(t *testing.T) {
	shrinking(t, limit, []Event{{Rank: 3, N: 2, Kind: Kill}}, func(ctx context.Context, in *Injector, c *collective.Comm) error {
		if _, err := c.Shrink(ctx); !errors.Is(err, device.ErrUnsupported) {
			return fmt.Errorf("without a Fault: %w", err)
		}
		if err := until(c, 3); err != nil {
			return err
		}
		first, err := shrunk(ctx, c, 3)
		if err != nil {
			return err
		}
		defer first.Close()
		err = first.Barrier(ctx)
		if c.Rank() == 0 { // it leaves the new Comm while the others go on with it
			return errors.Join(err, first.Close())
		}
		for err == nil { // a rank that is still in the barrier may have the Fault of one that is not
			err = sums(first)
		}
		var f *collective.Fault
		if !errors.As(err, &f) || !slices.Equal(f.Ranks, []int{0}) {
			return fmt.Errorf("the second Fault: %w", err)
		}
		second, err := shrunk(ctx, first, 2)
		if err != nil {
			return err
		}
		if second.Rank() != c.Rank()-1 {
			return fmt.Errorf("rank %d has become %d", c.Rank(), second.Rank())
		}
		return errors.Join(second.Barrier(ctx), second.Close())
	})
}

// The survivors shrink while operations that they have started wait for their turn: these end
// with the one Fault, also those that are started later, and the new Comm has none of it.
func TestShrinkPending(t *testing.T) {
	shrinking(t, limit, []Event{{Rank: 3, N: 5, Kind: Kill}}, func(ctx context.Context, _ *Injector, c *collective.Comm) error {
		var handles []*collective.Handle
		for range 200 {
			v := make([]int64, 1000) // as sums has
			handles = append(handles, c.AllReduceAsync(ctx, collective.Of(v), collective.Of(v), collective.Sum))
		}
		for c.Fault() == nil {
			time.Sleep(time.Millisecond)
		}
		s, err := shrunk(ctx, c, 3)
		if err != nil {
			return err
		}
		v := make([]int64, 1000) // as sums has
		handles = append(handles, c.AllReduceAsync(ctx, collective.Of(v), collective.Of(v), collective.Sum))
		failed := 0
		for i, h := range handles {
			err := h.Wait(ctx)
			if err == nil && failed == 0 {
				continue
			}
			failed++
			if err == nil || err.Error() != c.Fault().Error() {
				return fmt.Errorf("operation %d: %w, and the Fault is %w", i, err, c.Fault())
			}
		}
		if failed < 2 {
			return fmt.Errorf("only %d operations failed", failed)
		}
		return errors.Join(sums(s), s.Barrier(ctx), s.Close())
	})
}

// A survivor dies while the others wait for it in Shrink, or closes its Comm: they go on
// without it, and have one new Comm.
func TestShrinkLosesASurvivor(t *testing.T) {
	for name, end := range map[string]func(*Injector, *collective.Comm) error{
		"dies":   func(in *Injector, _ *collective.Comm) error { in.ends[2].kill(); return nil },
		"leaves": func(_ *Injector, c *collective.Comm) error { return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var waiting sync.Map // by Injector, which each group has of its own
			shrinking(t, 3*time.Second, []Event{{Rank: 3, N: 1, Kind: Kill}}, func(ctx context.Context, in *Injector, c *collective.Comm) error {
				if err := until(c, 3); err != nil {
					return err
				}
				n, _ := waiting.LoadOrStore(in, new(atomic.Int64))
				if c.Rank() == 2 {
					for n.(*atomic.Int64).Load() < 2 {
						time.Sleep(time.Millisecond)
					}
					time.Sleep(50 * time.Millisecond)
					return end(in, c)
				}
				n.(*atomic.Int64).Add(1)
				s, err := c.Shrink(context.Background())
				if err != nil {
					return fmt.Errorf("a survivor that is gone: %w", err)
				}
				if s.Size() != 2 || s.Rank() != c.Rank() {
					return fmt.Errorf("rank %d has become %d of %d", c.Rank(), s.Rank(), s.Size())
				}
				if err := sums(s); err != nil {
					return err
				}
				return errors.Join(s.Barrier(ctx), s.Close())
			})
		})
	}
}
