//go:build unix

package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// blamed checks the Fault of an operation that cannot succeed.
func blamed(what string, err error, cause collective.Cause, rank int) error {
	var f *collective.Fault
	if !errors.As(err, &f) || f.Cause != cause || !slices.Contains(f.Ranks, rank) {
		return fmt.Errorf("%s: %w; want rank %d, %s", what, err, rank, cause)
	}
	return nil
}

// mismatch: the last rank makes another call than the others, which all ranks are told.
func mismatch(ctx context.Context) error {
	c, err := open(ctx, collective.Options{})
	if err != nil {
		return err
	}
	last, root := c.Size()-1, 0
	v := make([]int64, 1000)
	wide := collective.Of(v)
	sum := func(c *collective.Comm) error { return c.AllReduce(ctx, wide, wide, collective.Sum) }
	for what, wrong := range map[string]func(c *collective.Comm) error{
		"another operation": func(c *collective.Comm) error { return c.Broadcast(ctx, wide, wide, root) },
		"another length": func(c *collective.Comm) error {
			return c.AllReduce(ctx, wide.Slice(0, 999), wide.Slice(0, 999), collective.Sum)
		},
		"another type": func(c *collective.Comm) error {
			w := collective.Of(make([]float64, 1000))
			return c.AllReduce(ctx, w, w, collective.Sum)
		},
		"another reduction": func(c *collective.Comm) error { return c.AllReduce(ctx, wide, wide, collective.Max) },
		"an operation more": func(c *collective.Comm) error { return errors.Join(c.Barrier(ctx), sum(c)) },
	} {
		d, err := c.Sub(ctx, everyone(c))
		if err != nil {
			return err
		}
		call := sum
		if c.Rank() == last {
			call = wrong
		}
		if err := blamed(what, call(d), collective.Mismatch, last); err != nil {
			return err
		}
		if err := shrunk(ctx, d, d.Size()); err != nil {
			return fmt.Errorf("after %s: %w", what, err)
		}
	}
	return ended(ctx, c, "agrees")
}

// ended closes a Comm that works and MPI, and says so.
func ended(ctx context.Context, c *collective.Comm, word string) error {
	if err := errors.Join(c.Barrier(ctx), c.Close()); err != nil {
		return err
	}
	if err := mpi.Finalize(ctx); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d %s\n", c.Rank(), c.Size(), word)
	return nil
}

// stopped: the last rank's process is stopped; the others get the Fault that names it not
// long after the deadline, and go on. Then it is woken, and told too.
func stopped(ctx context.Context) error {
	const deadline = 2 * time.Second
	w, err := rendezvous.Environment(os.Getenv)
	if err != nil {
		return err
	}
	ends, err := mpi.Join(ctx, w, mpi.Options{})
	if err != nil {
		return err
	}
	all := make([]int, ends.Size())
	for r := range all {
		all[r] = r
	}
	watched, err := ends.Split(ctx, "watched", all)
	if err != nil {
		return err
	}
	calm, err := collective.New(ends, collective.Options{Heartbeat: 5 * time.Second, Deadline: time.Minute})
	if err != nil {
		return err
	}
	pids := make([]int64, calm.Size())
	if err := calm.AllGather(ctx, collective.Of([]int64{int64(os.Getpid())}), collective.Of(pids)); err != nil {
		return err
	}
	c, err := collective.New(watched, collective.Options{Heartbeat: deadline / 10, Deadline: deadline})
	if err != nil {
		return err
	}
	last := c.Size() - 1
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	began := time.Now()
	if c.Rank() == last {
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return err
		}
	}
	one := []int64{1}
	for err == nil {
		err = c.AllReduce(ctx, collective.Of(one), collective.Of(one), collective.Max)
	}
	took := time.Since(began)
	if c.Rank() != last {
		if err := blamed("a stopped rank", err, collective.Lost, last); err != nil {
			return err
		}
		if took > 2*deadline {
			return fmt.Errorf("a stopped rank is named after %v, the deadline is %v", took, deadline)
		}
		if err := shrunk(ctx, c, last); err != nil {
			return err
		}
	}
	if c.Rank() == 0 {
		if err := syscall.Kill(int(pids[last]), syscall.SIGCONT); err != nil {
			return err
		}
	}
	if f := (*collective.Fault)(nil); c.Rank() == last {
		if !errors.As(err, &f) { // for it the others are lost, or have left
			return fmt.Errorf("the rank that was stopped: %w", err)
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return ended(ctx, calm, "survives")
}

func init() { modes["mismatch"], modes["stopped"] = mismatch, stopped }
