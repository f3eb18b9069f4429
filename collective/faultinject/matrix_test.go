package faultinject

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
)

const (
	ranks = 4
	limit = 60 * time.Second
)

// The whole matrix: every operation by every algorithm over every transport meets
// every fault, early and
// late. Nobody hangs; either the fault changed nothing, and then all results are
// right, or all survivors have one and the same Fault.
func TestFaultMatrix(t *testing.T) {
	slots := make(chan struct{}, 48) // most of a case's time is waiting for a deadline
	var all sync.WaitGroup
	for name, open := range transports(t.TempDir()) {
		for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
			for _, a := range algorithm.For(op) {
				for _, kind := range []Kind{Kill, Freeze, Drop, Delay, Duplicate, Corrupt, Partition} {
					for _, n := range []int64{0, 2} {
						slots <- struct{}{}
						all.Go(func() {
							defer func() { <-slots }()
							e := Event{Rank: 1, N: n, Kind: kind, Delay: 30 * time.Millisecond, Others: []int{0, 2, 3}}
							if err := patiently(open, op, a.Name, []Event{e}); err != nil {
								t.Errorf("%s: %s by %s, %s at message %d: %v", name, op, a.Name, kind, n, err)
							}
						})
					}
				}
			}
		}
	}
	all.Wait()
}

// transports open the endpoints of a group in this process; those that meet at a file
// have it in dir. MPI's ranks are processes: see TestMain.
func transports(dir string) map[string]func() ([]transport.Endpoint, error) {
	all := map[string]func() ([]transport.Endpoint, error){"inproc": openInproc, "tcp": openTCP(dir, nil)}
	if runtime.GOOS == "linux" {
		all["shm"], all["mixed"] = openShm, openMixed(dir)
	}
	return all
}

func openInproc() ([]transport.Endpoint, error) { return inproc.New(ranks), nil }

var groups atomic.Int64

func openShm() ([]transport.Endpoint, error) {
	name := fmt.Sprint("matrix", time.Now().UnixNano(), groups.Add(1))
	return meet(ranks, func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		return shm.Join(ctx, name, rank, size)
	})
}

// openTCP opens a group that meets at a file of its own, with a secret where there is one.
func openTCP(dir string, secret []byte) func() ([]transport.Endpoint, error) {
	return func() ([]transport.Endpoint, error) {
		return meet(ranks, overTCP(filepath.Join(dir, fmt.Sprint("meeting", groups.Add(1))), secret))
	}
}

// openMixed opens a group on two machines, on which the ranks take turns.
func openMixed(dir string) func() ([]transport.Endpoint, error) {
	return func() ([]transport.Endpoint, error) {
		return meet(ranks, overBoth(filepath.Join(dir, fmt.Sprint("mixed", groups.Add(1)))))
	}
}

func overBoth(path string) collective.Meeting {
	return func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: rank, Size: size, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: "file://" + path}
		return mixed.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: fmt.Sprint(rank % 2)})
	}
}

// meet opens all ends of a group.
func meet(n int, join collective.Meeting) ([]transport.Endpoint, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, errs := make([]transport.Endpoint, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { ends[r], errs[r] = join(ctx, r, n) })
	}
	all.Wait()
	return ends, errors.Join(errs...)
}

// errLate is a living rank that was taken for a lost one, or a judge that was: then
// there are two.
var errLate = errors.New("a rank was late")

// patiently tries under longer and longer deadlines: on a busy machine a rank may get
// no processor for a second, and is then lost like one that stopped.
func patiently(open func() ([]transport.Endpoint, error), op algorithm.Op, name string, events []Event) error {
	for deadline := time.Second; ; deadline *= 4 {
		ends, err := open()
		if err == nil {
			err = trial(ends, op, name, events, deadline)
		}
		if !errors.Is(err, errLate) || 8*deadline > limit {
			return err
		}
	}
}

// trial runs three rounds of an operation under events and judges the outcome.
func trial(plain []transport.Endpoint, op algorithm.Op, name string, events []Event, deadline time.Duration) error {
	o := collective.Options{Heartbeat: deadline / 10, Deadline: deadline, Timeout: 2 * deadline, Checksum: true, Chunk: 1024,
		Algorithms: map[algorithm.Op]string{op: name}}
	ends, in := Wrap(plain, events...)
	comms := make([]*collective.Comm, ranks)
	for r := range comms {
		var err error
		if comms[r], err = collective.New(ends[r], o); err != nil {
			return err
		}
	}
	defer func() {
		in.Thaw()
		for _, c := range comms {
			_ = c.Close()
		}
	}()
	errs := make([]error, ranks)
	ended := make(chan int, ranks)
	for r, c := range comms {
		go func() {
			for round := range 3 {
				if errs[r] = call(c, op, round); errs[r] != nil {
					break
				}
			}
			ended <- r
		}()
	}
	dead := lost(events)
	for missing := ranks; missing > 0; missing-- {
		select {
		case <-ended:
		case <-time.After(limit):
			return errors.New("the survivors hang")
		}
		if missing == len(dead)+1 {
			in.Thaw() // so that frozen ranks end too
		}
	}
	return judge(errs, dead, events, in.Messages)
}

// lost are the ranks whose outcome does not count.
func lost(events []Event) (dead []int) {
	for _, e := range events {
		if e.Kind == Kill || e.Kind == Freeze || e.Kind == Partition {
			if !slices.Contains(dead, e.Rank) {
				dead = append(dead, e.Rank)
			}
		}
	}
	return dead
}

// judge: the survivors' Faults are one; they name a rank that an event was planted
// on; and what changes or loses a message for certain is never missed. A survivor
// whose part was done before may be without one: its results were checked.
func judge(errs []error, dead []int, events []Event, messages func(rank int) int64) error {
	var first *collective.Fault
	harmless := !slices.ContainsFunc(events, func(e Event) bool { return e.Kind != Delay })
	for r, err := range errs {
		var f *collective.Fault
		if slices.Contains(dead, r) || !errors.As(err, &f) || f.Cause != collective.Lost {
			continue
		}
		for _, lost := range f.Ranks {
			if !slices.Contains(dead, lost) {
				return fmt.Errorf("the Fault names rank %d, which is there: %w: %w", lost, errLate, f)
			}
		}
	}
	for r, err := range errs {
		if slices.Contains(dead, r) || err == nil {
			continue
		}
		var f *collective.Fault
		if !errors.As(err, &f) {
			return fmt.Errorf("rank %d: %w", r, err)
		}
		if harmless {
			if f.Cause == collective.Timeout { // a busy machine's, since delays are much shorter
				err = errors.Join(errLate, err)
			}
			return fmt.Errorf("rank %d: a delay is no fault: %w", r, err)
		}
		if first == nil {
			first = f
		}
		if f.Error() != first.Error() {
			return fmt.Errorf("%w, or two Faults: %w; and %w", errLate, first, f)
		}
	}
	if first == nil {
		for _, e := range events { // with a rank gone, the message may have been for it
			if len(dead) == 0 && (e.Kind == Drop || e.Kind == Corrupt) && messages(e.Rank) > e.N {
				return fmt.Errorf("%s of message %d went unseen", e.Kind, e.N)
			}
		}
		return nil
	}
	for _, r := range dead {
		if first.Cause == collective.Lost && !slices.Contains(first.Ranks, r) && len(dead) == 1 {
			return fmt.Errorf("the Fault does not name rank %d: %v", r, first)
		}
	}
	return nil
}

// call makes one call and checks its result.
func call(c *collective.Comm, op algorithm.Op, round int) error {
	const n = 600
	ctx := context.Background()
	root := round % ranks
	vector := func(r, length int) []int32 {
		v := make([]int32, length)
		for i := range v {
			v[i] = int32(r*1000 + i + round)
		}
		return v
	}
	in, whole := vector(c.Rank(), n), vector(c.Rank(), n*ranks)
	var got, want []int32
	var err error
	sum := func(i int) int32 {
		var s int32
		for r := range ranks {
			s += int32(r*1000 + i + round)
		}
		return s
	}
	switch op {
	case algorithm.Barrier:
		err = c.Barrier(ctx)
	case algorithm.Broadcast:
		got, want = make([]int32, n), vector(root, n)
		err = c.Broadcast(ctx, collective.Of(in), collective.Of(got), root)
	case algorithm.Reduce, algorithm.AllReduce:
		got, want = make([]int32, n), make([]int32, n)
		if op == algorithm.Reduce {
			err = c.Reduce(ctx, collective.Of(in), collective.Of(got), collective.Sum, root)
		} else {
			err = c.AllReduce(ctx, collective.Of(in), collective.Of(got), collective.Sum)
		}
		for i := range want {
			if op == algorithm.AllReduce || c.Rank() == root {
				want[i] = sum(i)
			}
		}
	case algorithm.ReduceScatter:
		got, want = make([]int32, n), make([]int32, n)
		err = c.ReduceScatter(ctx, collective.Of(whole), collective.Of(got), collective.Sum)
		for i := range want {
			want[i] = sum(c.Rank()*n + i)
		}
	case algorithm.AllGather, algorithm.Gather:
		got = make([]int32, n*ranks)
		if op == algorithm.AllGather {
			err = c.AllGather(ctx, collective.Of(in), collective.Of(got))
		} else {
			err = c.Gather(ctx, collective.Of(in), collective.Of(got), root)
		}
		for r := range ranks {
			want = append(want, vector(r, n)...)
		}
		if op == algorithm.Gather && c.Rank() != root {
			want = make([]int32, n*ranks)
		}
	case algorithm.Scatter:
		got, want = make([]int32, n), vector(root, n*ranks)[c.Rank()*n:(c.Rank()+1)*n]
		err = c.Scatter(ctx, collective.Of(whole), collective.Of(got), root)
	case algorithm.AllToAll:
		got = make([]int32, n*ranks)
		err = c.AllToAll(ctx, collective.Of(whole), collective.Of(got))
		for r := range ranks {
			want = append(want, vector(r, n*ranks)[c.Rank()*n:(c.Rank()+1)*n]...)
		}
	}
	if err == nil && !slices.Equal(got, want) {
		return errors.New("the result is wrong")
	}
	return err
}
