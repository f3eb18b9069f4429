package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// The test program is a rank of the launcher's job when this variable is set, to one of
// the modes, to "death" only where the launcher lets the others live: see scripts/mpi.sh.
const asRank = "VOLLEY_MPI_TEST"

var modes = map[string]func(ctx context.Context) error{"work": work, "death": death}

func TestMain(m *testing.M) {
	mode := os.Getenv(asRank)
	if mode == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	run := modes[mode]
	if run == nil {
		fmt.Fprintf(os.Stderr, "%s=%s is not known\n", asRank, mode)
		os.Exit(2)
	}
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", mode, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func open(ctx context.Context, o collective.Options) (*collective.Comm, error) {
	w, err := rendezvous.Environment(os.Getenv)
	if err != nil {
		return nil, err
	}
	if w.Size < 2 {
		return nil, fmt.Errorf("the launcher's variables make a world of %d", w.Size)
	}
	ends, err := mpi.Join(ctx, w, mpi.Options{})
	if err != nil {
		return nil, err
	}
	return collective.New(ends, o)
}

// work makes calls of every kind, with their results checked, and ends MPI.
func work(ctx context.Context) error {
	c, err := open(ctx, collective.Options{Checksum: true})
	if err != nil {
		return err
	}
	if err := results(ctx, c); err != nil {
		return err
	}
	if err := groups(ctx, c); err != nil {
		return err
	}
	if err := canceled(ctx, c); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	if err := mpi.Finalize(ctx); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d works\n", c.Rank(), c.Size())
	return nil
}

// results are those of sums, copies and exchanges, from nothing to several segments.
func results(ctx context.Context, c *collective.Comm) error {
	r, n := c.Rank(), c.Size()
	for _, count := range []int{1, 1000, 200_003} {
		in, out := make([]int64, count), make([]int64, count)
		for i := range in {
			in[i] = int64(i * (r + 1))
		}
		if err := c.AllReduce(ctx, collective.Of(in), collective.Of(out), collective.Sum); err != nil {
			return err
		}
		for i, v := range out {
			if v != int64(i*n*(n+1)/2) {
				return fmt.Errorf("AllReduce: element %d of %d is %d", i, count, v)
			}
		}
		for root := range n {
			got := make([]int64, count)
			if r == root {
				copy(got, in)
			}
			if err := c.Broadcast(ctx, collective.Of(got), collective.Of(got), root); err != nil {
				return err
			}
			for i, v := range got {
				if v != int64(i*(root+1)) {
					return fmt.Errorf("Broadcast from %d: element %d of %d is %d", root, i, count, v)
				}
			}
		}
		to, from := make([]int64, count*n), make([]int64, count*n)
		for i := range to {
			to[i] = int64(r*1_000_000_000 + i)
		}
		if err := c.AllToAll(ctx, collective.Of(to), collective.Of(from)); err != nil {
			return err
		}
		for i, v := range from {
			if v != int64(i/count*1_000_000_000+r*count+i%count) {
				return fmt.Errorf("AllToAll: element %d of %d is %d", i, count, v)
			}
		}
	}
	return c.Barrier(ctx)
}

// groups work beside their parent; one that nobody joins ends with its context.
func groups(ctx context.Context, c *collective.Comm) error {
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if c.Rank() == 0 {
		if _, err := c.Sub(short, []int{1, 0}); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a group that nobody joins: %w", err)
		}
	}
	s, err := c.Split(ctx, c.Rank()%2, -c.Rank())
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	mine, all := []int64{int64(c.Rank())}, []int64{1}
	go func() {
		err := error(nil)
		for range 50 {
			err = errors.Join(err, s.AllReduce(ctx, collective.Of(mine), collective.Of(mine), collective.Max))
		}
		done <- err
	}()
	for range 50 {
		all[0] = 1
		if err := c.AllReduce(ctx, collective.Of(all), collective.Of(all), collective.Sum); err != nil {
			return err
		}
	}
	if err := <-done; err != nil {
		return err
	}
	last := c.Size() - 1
	if want := last - (last-c.Rank())%2; mine[0] != int64(want) || all[0] != int64(c.Size()) {
		return fmt.Errorf("the group of rank %d gives %d, and all %d", c.Rank(), mine[0], all[0])
	}
	return s.Close()
}

// canceled: a context that ends on one rank ends the call on all, and those who are
// there go on with what Shrink makes.
func canceled(ctx context.Context, c *collective.Comm) error {
	d, err := c.Sub(ctx, everyone(c))
	if err != nil {
		return err
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	if d.Rank() == 0 {
		time.AfterFunc(50*time.Millisecond, cancel)
	} else {
		own = ctx
	}
	var v [1]int64
	err = d.Recv(own, collective.Of(v[:]), (d.Rank()+1)%d.Size()) // which nobody sends
	if f := d.Fault(); err == nil || f == nil || f.Cause != collective.Canceled || f.By != 0 {
		return fmt.Errorf("canceled by rank 0: %w, fault %v", err, f)
	}
	return shrunk(ctx, d, d.Size())
}

// shrunk makes a Comm of those who are left, uses it, and closes both.
func shrunk(ctx context.Context, c *collective.Comm, left int) error {
	s, err := c.Shrink(ctx)
	if err != nil {
		return err
	}
	one := []int64{1}
	if err := s.AllReduce(ctx, collective.Of(one), collective.Of(one), collective.Sum); err != nil {
		return err
	}
	if s.Size() != left || one[0] != int64(left) {
		return fmt.Errorf("%d of %d ranks after Shrink, and %d is their sum", s.Size(), left, one[0])
	}
	return errors.Join(s.Close(), c.Close())
}

func everyone(c *collective.Comm) []int {
	ranks := make([]int, c.Size())
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

// death: the last rank is killed, the others get the Fault that names it.
func death(ctx context.Context) error {
	c, err := open(ctx, collective.Options{Heartbeat: 100 * time.Millisecond, Deadline: 4 * time.Second})
	if err != nil {
		return err
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	last := c.Size() - 1
	if c.Rank() == last {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		return err
	}
	one := []int64{1}
	for err == nil { // it may still have had a part in the first
		err = c.AllReduce(ctx, collective.Of(one), collective.Of(one), collective.Max)
	}
	var f *collective.Fault
	if !errors.As(err, &f) || f.Cause != collective.Lost || len(f.Ranks) != 1 || f.Ranks[0] != last {
		return fmt.Errorf("rank %d died: %w", last, err)
	}
	if err := shrunk(ctx, c, last); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := mpi.Finalize(short); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("Finalize with a dead rank: %w", err)
	}
	fmt.Printf("rank %d of %d survives\n", c.Rank(), c.Size())
	return nil
}
