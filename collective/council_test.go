package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// shrinks checks that the ranks of comms become one new Comm.
func shrinks(t *testing.T, comms []*Comm, late func(c *Comm)) {
	t.Helper()
	must(t, comms, func(c *Comm) error {
		late(c)
		s, err := c.Shrink(context.Background())
		if err != nil {
			return err
		}
		defer s.Close()
		v := []int64{int64(c.Rank())}
		if err := s.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil {
			return err
		}
		want := int64(0)
		for _, c := range comms {
			want += int64(c.Rank())
		}
		if s.Size() != len(comms) || v[0] != want {
			return fmt.Errorf("%d ranks, and their sum is %d", s.Size(), v[0])
		}
		return s.Barrier(context.Background())
	})
}

// canceled ends the work of comms by a Fault that no rank is lost by.
func canceled(t *testing.T, comms []*Comm) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for r, err := range each(t, comms, func(c *Comm) error { return c.Barrier(ctx) }) {
		if !errors.Is(err, device.ErrCanceled) {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
}

// Ranks that have seen different ranks lost agree on who is left.
func TestShrinkOfDifferentViews(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comms := over(t, open(t, 5), quick)
			canceled(t, comms)
			for _, at := range []struct{ rank, misses int }{{0, 4}, {2, 3}} {
				w := comms[at.rank].watch
				w.call(func() { w.gone[at.misses], w.cut[at.misses] = Lost, true })
			}
			must(t, comms, func(c *Comm) error {
				s, err := c.Shrink(context.Background())
				if c.Rank() >= 3 {
					if !errors.Is(err, device.ErrLost) {
						return fmt.Errorf("a rank that others miss: %v, %w", s, err)
					}
					return nil
				}
				if err != nil {
					return err
				}
				defer s.Close()
				if s.Size() != 3 || s.Rank() != c.Rank() {
					return fmt.Errorf("rank %d of %d", s.Rank(), s.Size())
				}
				return s.Barrier(context.Background())
			})
		})
	}
}

// Who lives and does not shrink is named after the deadline, and may come later.
func TestShrinkWaitsForTheLiving(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := quick
			o.Deadline = time.Second
			comms := over(t, open(t, 3), o)
			canceled(t, comms)
			for r, err := range each(t, comms[:2], func(c *Comm) error { return second(c.Shrink(context.Background())) }) {
				var f *Fault
				if !errors.As(err, &f) || f.Cause != Timeout || !slices.Contains(f.Ranks, 2) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
			if _, err := comms[0].Shrink(ctx); !errors.Is(err, why) || !errors.Is(err, device.ErrUnavailable) {
				t.Errorf("a context that ends: %v", err)
			}
			shrinks(t, comms, func(c *Comm) { time.Sleep(time.Duration(c.Rank()) * 30 * time.Millisecond) })
			if _, err := comms[0].Shrink(context.Background()); !errors.Is(err, device.ErrUnsupported) {
				t.Errorf("a second new Comm: %v", err)
			}
		})
	}
}

// Ranks that give up Shrink and come back, again and again, become one Comm.
func TestShrinkAgainAndAgain(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range 8 {
				comms := over(t, open(t, 4), quick)
				canceled(t, comms)
				var mu sync.Mutex
				made := map[int]*Comm{}
				must(t, comms, func(c *Comm) error {
					for try := 0; ; try++ {
						ctx, cancel := context.WithTimeout(context.Background(), limit)
						if c.Rank()%2 == 0 && try < 6 {
							ctx, cancel = context.WithTimeout(context.Background(), time.Duration(1+(c.Rank()*7+try*5+round)%13)*time.Millisecond)
						}
						s, err := c.Shrink(ctx)
						cancel()
						if err == nil {
							mu.Lock()
							made[c.Rank()] = s
							mu.Unlock()
							return s.Barrier(context.Background())
						}
						if try > 6 {
							return err
						}
					}
				})
				for _, s := range made {
					if s.Size() != 4 {
						t.Errorf("%d ranks", s.Size())
					}
					s.Close()
				}
			}
		})
	}
}

// A Comm that is closed while its Shrink waits ends that.
func TestCloseEndsShrink(t *testing.T) {
	comms := world(t, 2, quick)
	canceled(t, comms)
	time.AfterFunc(50*time.Millisecond, func() { comms[0].Close() })
	for _, err := range each(t, comms[:1], func(c *Comm) error { return second(c.Shrink(context.Background())) }) {
		if !errors.Is(err, device.ErrClosed) {
			t.Errorf("a Comm that was closed: %v", err)
		}
	}
}
