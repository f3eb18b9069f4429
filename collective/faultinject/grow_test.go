package faultinject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device"
)

// overTCP meets at a file.
func overTCP(path string, secret []byte) collective.Meeting {
	return func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: rank, Size: size, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: "file://" + path}
		return tcp.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Secret: secret})
	}
}

// inProcess hands out the ends of one group.
func inProcess() collective.Meeting {
	var mu sync.Mutex
	var ends []transport.Endpoint
	return func(_ context.Context, rank, size int) (transport.Endpoint, error) {
		mu.Lock()
		defer mu.Unlock()
		if ends == nil {
			ends = inproc.New(size)
		}
		return ends[rank], nil
	}
}

// overMemory meets in a segment of its own.
func overMemory() collective.Meeting {
	name := fmt.Sprint("grow", time.Now().UnixNano(), groups.Add(1))
	return func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		return shm.Join(ctx, name, rank, size)
	}
}

// together opens all ends of a group.
func together(t *testing.T, n int, join collective.Meeting) []transport.Endpoint {
	t.Helper()
	ends, err := meet(n, join)
	if err != nil {
		t.Fatal(err)
	}
	return ends
}

// sums checks a Comm by an AllReduce.
func sums(c *collective.Comm) error {
	v := make([]int64, 1000)
	for i := range v {
		v[i] = int64(c.Rank() + i)
	}
	if err := c.AllReduce(context.Background(), collective.Of(v), collective.Of(v), collective.Sum); err != nil {
		return err
	}
	n := int64(c.Size())
	for i, x := range v {
		if x != n*(n-1)/2+n*int64(i) {
			return fmt.Errorf("sum %d of %d ranks is %d", i, n, x)
		}
	}
	return nil
}

// A rank is killed; the others shrink, and grow again by a rank that is new.
func TestGrow(t *testing.T) {
	dir, secret := t.TempDir(), bytes.Repeat([]byte{7}, 32)
	all := map[string][2]collective.Meeting{
		"inproc": {inProcess(), inProcess()},
		"tcp":    {overTCP(filepath.Join(dir, "first"), nil), overTCP(filepath.Join(dir, "second"), nil)},
		"tls":    {overTCP(filepath.Join(dir, "sealed"), secret), overTCP(filepath.Join(dir, "sealed again"), secret)},
	}
	if runtime.GOOS == "linux" {
		all["shm"] = [2]collective.Meeting{overMemory(), overMemory()}
		all["mixed"] = [2]collective.Meeting{overBoth(filepath.Join(dir, "both")), overBoth(filepath.Join(dir, "both again"))}
	}
	for name, meetings := range all {
		t.Run(name, func(t *testing.T) {
			o := collective.Options{Deadline: limit} // who is killed is noticed by its connection
			ends, in := Wrap(together(t, ranks, meetings[0]), Event{Rank: 2, N: 3, Kind: Kill})
			defer in.Thaw()
			var all sync.WaitGroup
			errs := make([]error, ranks+1)
			for r, e := range ends {
				all.Go(func() { errs[r] = survive(e, r, o, meetings[1]) })
			}
			all.Go(func() { // it waits for the others to shrink
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				defer cancel()
				c, err := collective.Enter(ctx, ranks-1, ranks, meetings[1], o)
				if err == nil {
					err = errors.Join(sums(c), c.Barrier(ctx), c.Close())
				}
				errs[ranks] = err
			})
			all.Wait()
			for r, err := range errs {
				if err != nil && (r != 2 || !errors.Is(err, ErrKilled) && !errors.Is(err, device.ErrLost)) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// survive works until a rank is gone, and goes on without it, and then with another.
func survive(e transport.Endpoint, rank int, o collective.Options, meet collective.Meeting) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := collective.New(e, o)
	if err != nil {
		return err
	}
	defer c.Close()
	for err == nil {
		err = sums(c)
	}
	var f *collective.Fault
	if rank == 2 || !errors.As(err, &f) || len(f.Ranks) != 1 || f.Ranks[0] != 2 {
		return err
	}
	small, err := c.Shrink(ctx)
	if err != nil {
		return err
	}
	defer small.Close()
	if err := sums(small); err != nil {
		return err
	}
	if _, err := small.Grow(ctx, ranks-1, meet); !errors.Is(err, device.ErrMismatch) {
		return fmt.Errorf("growing to the same size: %w", err)
	}
	if _, err := small.Grow(ctx, ranks+small.Rank(), meet); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "want from 4 to 6") {
		return fmt.Errorf("growing to different sizes: %w", err)
	}
	grown, err := small.Grow(ctx, ranks, meet)
	if err != nil {
		return err
	}
	if grown.Rank() != small.Rank() || grown.Size() != ranks {
		return fmt.Errorf("rank %d of %d has grown to %d of %d", small.Rank(), small.Size(), grown.Rank(), grown.Size())
	}
	return errors.Join(sums(grown), grown.Barrier(ctx), grown.Close())
}

// When nobody comes the old Comm goes on.
func TestGrowAlone(t *testing.T) {
	meet := overTCP(filepath.Join(t.TempDir(), "meeting"), nil)
	var all sync.WaitGroup
	for _, e := range inproc.New(2) {
		all.Go(func() {
			c, err := collective.New(e, collective.Options{Deadline: limit})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			short := func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				return meet(ctx, rank, size)
			}
			if _, err := c.Grow(context.Background(), 3, short); !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("nobody comes: %v", err)
			}
			if err := errors.Join(sums(c), c.Barrier(context.Background())); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A Grow whose context has no deadline ends by Options.Timeout, and reports before who has not come; so does an Enter.
func TestGrowWithoutDeadline(t *testing.T) {
	t.Parallel() // most of it is waiting
	meet := overTCP(filepath.Join(t.TempDir(), "meeting"), nil)
	reports := make(chan collective.Stall, 10)
	// They give up one after the other, so that each has a known number of others there.
	patience := func(t time.Duration) collective.Options {
		return collective.Options{Deadline: limit, Timeout: t, Stall: 2 * time.Second, OnStall: func(s collective.Stall) { reports <- s }}
	}
	waits := func(call, absent string, err error) {
		if !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || err == nil || !strings.Contains(err.Error(), absent+" did not come") ||
			!strings.Contains(err.Error(), "Options.Timeout") {
			t.Errorf("%s: %v", call, err)
		}
	}
	var all sync.WaitGroup
	for _, e := range inproc.New(2) {
		all.Go(func() {
			o, absent := patience(9*time.Second), "ranks 1, 2, 3"
			if e.Rank() == 1 {
				o, absent = patience(6*time.Second), "ranks 2, 3"
			}
			c, err := collective.New(e, o)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, err = c.Grow(context.Background(), 4, meet)
			waits("Grow", absent, err)
			if c.Stats().Stalls != 1 {
				t.Errorf("%d stalls are counted", c.Stats().Stalls)
			}
			if err := errors.Join(sums(c), c.Barrier(context.Background())); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		_, err := collective.Enter(context.Background(), 3, 4, meet, patience(4*time.Second))
		waits("Enter", "rank 2", err)
	})
	all.Wait()
	for range 3 {
		select {
		case s := <-reports:
			if s.Op != "Grow" || s.Waiting != 2 || len(s.Absent) != 1 || s.Absent[0] != 2 {
				t.Errorf("reported: %+v", s)
			}
		default:
			t.Error("somebody reports nothing")
		}
	}
}

// Every fault over encrypted sockets too, early and late, for two operations: what they add is how a
// connection ends.
func TestSecret(t *testing.T) {
	open := openTCP(t.TempDir(), bytes.Repeat([]byte("secret"), 6))
	var all sync.WaitGroup
	for _, s := range operations() {
		if s.name != "AllReduce by butterfly" && s.name != "AllToAll by bruck" {
			continue
		}
		for _, e := range faults(s.messages) {
			all.Go(func() {
				if err := patiently(open, s, []Event{e}); err != nil {
					t.Errorf("%s, %s at message %d: %v", s.name, e.Kind, e.N, err)
				}
			})
		}
	}
	all.Wait()
}

// A newcomer that dies after it was taken in is covered as all others are: one fault that names it, and the others shrink and go on.
func TestNewcomerDies(t *testing.T) {
	const newcomer = 2
	dies := Event{Rank: newcomer, N: 12, Kind: Kill} // behind its first sum, in which all others have grown
	wrapped, _ := Wrap(inproc.New(newcomer+1), dies)
	meet := overTCP(filepath.Join(t.TempDir(), "meeting"), nil)
	for name, meeting := range map[string]collective.Meeting{
		"inproc": func(_ context.Context, rank, _ int) (transport.Endpoint, error) { return wrapped[rank], nil },
		"tcp": func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
			e, err := meet(ctx, rank, size)
			if err == nil && rank == newcomer {
				e, _ = WrapOne(e, dies)
			}
			return e, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := collective.Options{Deadline: limit}
			var all sync.WaitGroup
			for _, e := range inproc.New(newcomer) {
				all.Go(func() {
					if err := outlive(e, newcomer, o, meeting); err != nil {
						t.Errorf("rank %d: %v", e.Rank(), err)
					}
				})
			}
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				defer cancel()
				c, err := collective.Enter(ctx, newcomer, newcomer+1, meeting, o)
				if err != nil {
					t.Errorf("the newcomer: %v", err)
					return
				}
				defer c.Close()
				for err == nil {
					err = sums(c)
				}
				if !errors.Is(err, ErrKilled) && !errors.Is(err, device.ErrLost) {
					t.Errorf("the newcomer: %v", err)
				}
			})
			all.Wait()
		})
	}
}

// outlive grows by one rank, works until that has died, and goes on without it.
func outlive(e transport.Endpoint, newcomer int, o collective.Options, meet collective.Meeting) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := collective.New(e, o)
	if err != nil {
		return err
	}
	defer c.Close()
	grown, err := c.Grow(ctx, newcomer+1, meet)
	if err != nil {
		return fmt.Errorf("growing: %w", err)
	}
	defer grown.Close()
	for err == nil {
		err = sums(grown)
	}
	var f *collective.Fault
	if !errors.As(err, &f) || len(f.Ranks) != 1 || f.Ranks[0] != newcomer {
		return fmt.Errorf("rank %d is not named alone: %w", newcomer, err)
	}
	small, err := grown.Shrink(ctx)
	if err != nil {
		return fmt.Errorf("shrinking: %w", err)
	}
	return errors.Join(sums(small), small.Barrier(ctx), small.Close())
}
