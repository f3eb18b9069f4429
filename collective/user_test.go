package collective

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// What a user's reduction does is one rank's failure: the others are told, and nothing
// stops the program.
func TestReductionFails(t *testing.T) {
	ctx := context.Background()
	for name, fail := range map[string]func(){
		"panic":  func() { panic("no such number") },
		"goexit": runtime.Goexit,
	} {
		for how, call := range map[string]func(c *Comm, v Vector, op Op) error{
			"blocking": func(c *Comm, v Vector, op Op) error {
				err := errEnded // of a goroutine that ends
				done := make(chan error, 1)
				go func() {
					got := error(err)
					defer func() { done <- got }()
					got = c.AllReduce(ctx, v, v, op)
				}()
				return <-done
			},
			"async": func(c *Comm, v Vector, op Op) error { return c.AllReduceAsync(ctx, v, v, op).Wait(ctx) },
			"group": func(c *Comm, v Vector, op Op) error {
				g := c.Group()
				g.AllReduce(v, v, op)
				g.AllReduce(v, v, op)
				return g.Run(ctx)
			},
			"fuser": func(c *Comm, v Vector, op Op) error {
				f, err := NewFuser(ctx, c, FuserOptions{})
				if err != nil {
					return err
				}
				h := f.AllReduceAsync(v, v, op)
				return errors.Join(h.Wait(ctx), f.Close())
			},
		} {
			for carrier, open := range transports {
				t.Run(name+"/"+how+"/"+carrier, func(t *testing.T) {
					comms := over(t, open(t, 3), quick)
					errs := each(t, comms, func(c *Comm) error {
						op := NewOp("sum or not", true, func(a, b float64) float64 {
							if c.Rank() == 1 {
								fail()
							}
							return a + b
						})
						err := call(c, Of(make([]float64, 100)), op)
						if how == "fuser" {
							return err
						}
						if err == nil { // who was through before
							err = c.Barrier(ctx)
						}
						if next := c.Barrier(ctx); next == nil {
							t.Errorf("rank %d: the Comm goes on", c.Rank())
						}
						return err
					})
					for r, err := range errs {
						if how == "fuser" && (name == "goexit" || r != 1) {
							continue // its own Comm is closed, or its goroutine was
						}
						if !errors.Is(err, device.ErrCanceled) {
							t.Errorf("rank %d: %v", r, err)
						}
						if name == "panic" && r == 1 && !strings.Contains(err.Error(), "no such number") {
							t.Errorf("rank %d does not say why: %v", r, err)
						}
					}
				})
			}
		}
	}
}

func TestReductionsOfOtherNames(t *testing.T) {
	ctx := context.Background()
	comms := world(t, 3, quick)
	errs := each(t, comms, func(c *Comm) error {
		op := NewOp("first", true, func(a, _ int32) int32 { return a })
		if c.Rank() == 2 {
			op = NewOp("second", true, func(_, b int32) int32 { return b })
		}
		v := Of(make([]int32, 10))
		if err := c.AllReduce(ctx, v, v, op); err != nil {
			return err
		}
		return c.Barrier(ctx)
	})
	for r, err := range errs {
		if !errors.Is(err, device.ErrMismatch) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// Arguments that cannot be are errors, whatever their sums come to, and the Comm goes on.
func TestRefusesWhatCannotBe(t *testing.T) {
	ctx := context.Background()
	comms := world(t, 4, quick)
	must(t, comms, func(c *Comm) error {
		none, one := Of([]int64{}), Of([]int64{1})
		wraps := []int64{1 << 62, 1 << 62, 1 << 62, 1 << 62}
		group := c.Group()
		group.AllReduce(one, one, Op{})
		for name, err := range map[string]error{
			"zero Op":             c.AllReduce(ctx, one, one, Op{}),
			"zero Op of Reduce":   c.Reduce(ctx, one, one, Op{}, 0),
			"zero Op, async":      c.AllReduceAsync(ctx, one, one, Op{}).Wait(ctx),
			"zero Op in a group":  group.Run(ctx),
			"no function":         c.AllReduce(ctx, one, one, NewOp[int64]("none", true, nil)),
			"counts that wrap":    c.AllToAllV(ctx, none, none, wraps, wraps),
			"received that wraps": c.AllToAllV(ctx, none, none, make([]int64, 4), wraps),
			"gathered that wraps": c.AllGatherV(ctx, one, one, []int64{1, math.MaxInt64, 1, 1}),
			"scattered":           c.ScatterV(ctx, none, none, wraps, 0),
		} {
			if !errors.Is(err, device.ErrMismatch) && !errors.Is(err, device.ErrUnsupported) {
				t.Errorf("rank %d: %s: %v", c.Rank(), name, err)
			}
		}
		return c.Barrier(ctx)
	})
	if _, err := New(nil, Options{}); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("New(nil): %v", err)
	}
	if _, err := comms[0].Grow(ctx, 5, nil); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("Grow without a Meeting: %v", err)
	}
	if _, err := Enter(ctx, 4, 5, nil, Options{}); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("Enter without a Meeting: %v", err)
	}
}

// Ranks in different calls wait for messages of each other that never come, or get none
// that would tell: they are told by their heartbeats, long before the Timeout.
func TestMismatchWithoutMessages(t *testing.T) {
	ctx := context.Background()
	in, all := func() Vector { return Of(make([]float32, 3)) }, func() Vector { return Of(make([]float32, 12)) }
	calls := map[string]func(c *Comm) error{
		"Barrier":        func(c *Comm) error { return c.Barrier(ctx) },
		"Broadcast of 0": func(c *Comm) error { v := in(); return c.Broadcast(ctx, v, v, 0) },
		"Broadcast of 1": func(c *Comm) error { v := in(); return c.Broadcast(ctx, v, v, 1) },
		"Reduce to 0":    func(c *Comm) error { return c.Reduce(ctx, in(), in(), Sum, 0) },
		"Reduce to 1":    func(c *Comm) error { return c.Reduce(ctx, in(), in(), Sum, 1) },
		"Gather to 0":    func(c *Comm) error { return c.Gather(ctx, in(), all(), 0) },
		"Scatter of 1":   func(c *Comm) error { return c.Scatter(ctx, all(), in(), 1) },
		"AllReduce":      func(c *Comm) error { return c.AllReduce(ctx, in(), in(), Sum) },
		"AllToAll":       func(c *Comm) error { return c.AllToAll(ctx, all(), all()) },
		"two of them":    func(c *Comm) error { return errors.Join(c.Gather(ctx, in(), all(), 2), c.Barrier(ctx)) },
	}
	for name, call := range calls {
		for odd, other := range calls {
			if name == odd {
				continue
			}
			t.Run(name+"/"+odd, func(t *testing.T) {
				t.Parallel()
				comms := world(t, 4, quick)
				began := time.Now()
				errs := each(t, comms, func(c *Comm) error {
					err := call
					if c.Rank() == 1 {
						err = other
					}
					if err := err(c); err != nil {
						return err
					}
					return c.Barrier(ctx)
				})
				f := sameFault(t, errs, []int{0, 1, 2, 3}, Mismatch, faultOf(errs[0]).Ranks)
				if !contains(f.Ranks, 1) || f.Op == "" || time.Since(began) > limit/2 {
					t.Errorf("after %v: %v", time.Since(began), f)
				}
			})
		}
	}
}

func faultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{}
}

// A rank that is late is none in another call.
func TestLateIsNoMismatch(t *testing.T) {
	ctx := context.Background()
	o := quick
	o.Heartbeat = 5 * time.Millisecond
	comms := world(t, 3, o)
	must(t, comms, func(c *Comm) error {
		for i := range 40 {
			if i%3 == c.Rank() {
				time.Sleep(15 * time.Millisecond)
			}
			v := Of(make([]float64, 1+i%5))
			if err := c.Broadcast(ctx, v, v, i%3); err != nil {
				return err
			}
			if c.Rank() == 1 { // who gives nothing need not say of what
				v = Vector{}
			} else {
				v = v.Slice(0, 1)
			}
			if err := c.GatherV(ctx, v, Of(make([]float64, 2)), []int64{1, 0, 1}, 2); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestHeartbeat(t *testing.T) {
	var p progress
	for seq := uint64(1); seq <= 20; seq++ {
		p.calls.put(seq, someCall(seq))
		p.begin(algorithm.AllReduce, seq, -1, false, 1)
	}
	var h heardCalls
	seq, ok := h.take(heartbeat(&p))
	if !ok || seq != 20 {
		t.Fatal(seq, ok)
	}
	for n := uint64(13); n <= 20; n++ {
		if got := h[n%recent]; got != callOf(n, someCall(n)) || got.call() != *someCall(n) {
			t.Errorf("%d: %v", n, got)
		}
	}
	for _, text := range []string{"", ".", ".1234567", ".12345678-", "{\"Kind\":\"report\"}", strings.Repeat("x", 33)} {
		if _, ok := h.take([]byte(text)); ok {
			t.Errorf("%q is no heartbeat", text)
		}
	}
}

func someCall(n uint64) *transport.Call {
	return &transport.Call{Op: 1, Type: 2, Reduce: 200, Algorithm: uint8(n), Root: -int32(n), Count: -int64(n)}
}
