package distributed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/collective/faultinject"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// operations are what ranks may die in.
var operations = map[string]func(r *rank, d, o *Table) (*Table, error){
	"join by shuffle":   func(r *rank, d, o *Table) (*Table, error) { return d.Join(r, o, table.Full, table.Keys("k", "rk")) },
	"join by broadcast": func(r *rank, d, o *Table) (*Table, error) { return d.Join(r, o, table.Cross) },
	"shuffle by hash":   func(r *rank, d, o *Table) (*Table, error) { return d.Shuffle(r, Hash("k", "s")) },
	"shuffle by range": func(r *rank, d, o *Table) (*Table, error) {
		return d.Shuffle(r, Range(table.Asc("s"), table.Desc("k")))
	},
	"shuffle round robin": func(r *rank, d, o *Table) (*Table, error) { return d.Shuffle(r, RoundRobin()) },
	"rebalance":           func(r *rank, d, o *Table) (*Table, error) { return d.Rebalance(r) },
	"replicate":           func(r *rank, d, o *Table) (*Table, error) { return d.Replicate(r) },
	"scatter and gather": func(r *rank, d, o *Table) (*Table, error) {
		whole, err := d.Gather(r, 0)
		if err != nil {
			return nil, err
		}
		defer whole.Release()
		return Scatter(r, r.comm, r.backend, whole, 0)
	},
	"exchange": func(r *rank, d, o *Table) (*Table, error) {
		parts, err := d.Local().Partition(r, r.comm.Size(), "k")
		if err != nil {
			return nil, err
		}
		defer func() {
			for _, p := range parts {
				p.Release()
			}
		}()
		got, err := Exchange(r, r.comm, parts)
		if err != nil {
			return nil, err
		}
		defer got.Release()
		return New(r, r.comm, got)
	},
}

// dies runs an operation until it fails, and says how: nil where nothing went wrong.
func dies(r *rank, run func(r *rank, d, o *Table) (*Table, error)) error {
	d, err := r.spread(newSource("zipf", 1, 60, r.comm.Size()), "")
	if err != nil {
		return err
	}
	defer d.Release()
	o, err := r.spread(newSource("null keys", 2, 50, r.comm.Size()), "r")
	if err != nil {
		return err
	}
	defer o.Release()
	got, err := run(r, d, o)
	if err != nil {
		return err
	}
	got.Release()
	return r.comm.Barrier(r)
}

// A rank that dies at any message of any operation is one Fault on all survivors, who then go on without it.
func TestRankDies(t *testing.T) {
	step := int64(1)
	if testing.Short() || !backends.OnHost() {
		step = 7
	}
	for name, run := range operations {
		t.Run(name, func(t *testing.T) {
			faults := 0
			for n := int64(0); n < 36; n += step {
				if survives(t, inproc.New(3), faultinject.Event{Rank: 1, N: n, Kind: faultinject.Kill}, run) {
					faults++
				}
			}
			require.Greater(t, faults, int(8/step))
		})
	}
}

// survives has a rank die in an operation, and holds what the others see against each other. It says whether they saw it.
func survives(t *testing.T, ends []transport.Endpoint, event faultinject.Event, run func(r *rank, d, o *Table) (*Table, error)) bool {
	t.Helper()
	return survivesIn(t, ends, event, func(r *rank) error { return dies(r, run) })
}

// survivesIn is survives in whatever ranks do until they fail.
func survivesIn(t *testing.T, ends []transport.Endpoint, event faultinject.Event, run func(r *rank) error) bool {
	t.Helper()
	wrapped, in := faultinject.Wrap(ends, event)
	defer in.Thaw()
	b := open(t, nil)
	options := collective.Options{Deadline: limit}
	if event.Kind == faultinject.Freeze {
		options.Heartbeat, options.Deadline = 20*time.Millisecond, 500*time.Millisecond
	}
	texts := make([]string, len(ends))
	var mu sync.Mutex
	var done atomic.Bool // the rank lives at the end of run: where it dies in the Barrier behind that, some are through and some are not
	var others sync.WaitGroup
	others.Add(len(ends) - 1)
	go func() {
		others.Wait()
		in.Thaw()
	}()
	began := time.Now()
	var failed []error // what a rank did wrong may be seen by others first
	for r, err := range groupOver(t, wrapped, options, func(int) *kernels.Backend { return b }, func(r *rank) error {
		err := run(r)
		if err == nil && r.id() == event.Rank {
			done.Store(true)
		}
		if err == nil { // others may not be through
			if err = r.comm.Barrier(r); err != nil && done.Load() {
				err = nil
			}
		}
		if r.id() == event.Rank {
			if event.Kind == faultinject.Freeze {
				return nil
			}
			return ignore(err, faultinject.ErrKilled, device.ErrLost)
		}
		defer others.Done()
		var f *collective.Fault
		if err == nil || !errors.As(err, &f) {
			return err // it ended before the message, or wrongly
		}
		mu.Lock()
		texts[r.id()] = fmt.Sprint(f.Cause, f.Op, f.Seq, f.Ranks, f.By)
		mu.Unlock()
		if !slices.Equal([]int{event.Rank}, f.Ranks) {
			return fmt.Errorf("the Fault does not name rank %d: %w", event.Rank, f)
		}
		small, err := r.comm.Shrink(r)
		if err != nil {
			return err
		}
		defer small.Close()
		return run(&rank{Context: r.Context, t: r.t, comm: small, backend: r.backend})
	}) {
		if err != nil {
			failed = append(failed, fmt.Errorf("rank %d: %w", r, err))
		}
	}
	require.NoError(t, errors.Join(failed...), "%+v", event)
	require.Less(t, time.Since(began), limit)
	var seen []string
	for r, text := range texts {
		if r != event.Rank && (text != "" || !done.Load()) { // of a rank that dies at its end, some need nothing more
			seen = append(seen, text)
		}
	}
	if len(seen) == 0 {
		return false
	}
	require.Equal(t, strings.Repeat(seen[0], len(seen)), strings.Join(seen, ""), "the Faults are not the same")
	return seen[0] != ""
}

// ignore is nil for an error of these kinds.
func ignore(err error, kinds ...error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return nil
		}
	}
	return err
}

// meet joins ranks over a transport between processes.
func meet(t *testing.T, n int, join func(ctx context.Context, rank int) (transport.Endpoint, error)) []transport.Endpoint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, errs := make([]transport.Endpoint, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { ends[r], errs[r] = join(ctx, r) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return ends
}

func transports(t *testing.T, n int) map[string]func() []transport.Endpoint {
	made := 0
	all := map[string]func() []transport.Endpoint{"tcp": func() []transport.Endpoint {
		made++
		address := fmt.Sprintf("file://%s/meeting-%d", t.TempDir(), made)
		return meet(t, n, func(ctx context.Context, rank int) (transport.Endpoint, error) {
			w := rendezvous.World{Rank: rank, Size: n, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: address}
			return tcp.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0"})
		})
	}}
	if runtime.GOOS == "linux" {
		all["shm"] = func() []transport.Endpoint {
			name := fmt.Sprint("distributed", time.Now().UnixNano())
			return meet(t, n, func(ctx context.Context, rank int) (transport.Endpoint, error) { return shm.Join(ctx, name, rank, n) })
		}
	}
	return all
}

// Operations between processes' transports: right without a fault, and one Fault where a rank is killed or stopped.
func TestTransports(t *testing.T) {
	for name, ends := range transports(t, 3) {
		t.Run(name, func(t *testing.T) {
			b := open(t, nil)
			for r, err := range groupOver(t, ends(), collective.Options{Deadline: limit}, func(int) *kernels.Backend { return b }, func(r *rank) error {
				for _, operation := range []string{"join by shuffle", "shuffle by range", "scatter and gather"} {
					if err := dies(r, operations[operation]); err != nil {
						return err
					}
				}
				return nil
			}) {
				require.NoError(t, err, "rank %d", r)
			}
			for _, event := range []faultinject.Event{{Rank: 0, N: 12, Kind: faultinject.Kill}, {Rank: 2, N: 15, Kind: faultinject.Freeze}} {
				require.True(t, survives(t, ends(), event, operations["join by shuffle"]))
			}
			if testing.Short() {
				return
			}
			seen := 0
			for i, operation := range slices.Sorted(maps.Keys(operations)) { // some are over before the rank is to die
				if survives(t, ends(), faultinject.Event{Rank: i % 3, N: 8, Kind: faultinject.Kill}, operations[operation]) {
					seen++
				}
			}
			require.Greater(t, seen, len(operations)/2)
		})
	}
}

// A rank without memory for what comes says so before anything moves; the Comm goes on.
func TestOneRankHasNoMemory(t *testing.T) {
	wide := open(t, nil)
	tight := open(t, func(a memory.Allocator) memory.Allocator { return memory.NewLimited(a, 1<<18) })
	for r, err := range groupOn(t, 3, func(r int) *kernels.Backend {
		if r == 1 {
			return tight
		}
		return wide
	}, func(r *rank) error {
		rows := 50000
		if r.id() == 1 {
			rows = 10
		}
		part := ints(r.backend, "k", make([]int64, rows))
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		for _, run := range []func() error{
			func() error { _, err := d.Gather(r, 1); return err },
			func() error { _, err := d.Replicate(r); return err },
			func() error { _, err := d.Rebalance(r); return err },
		} {
			err := run()
			var e *agree.Error
			require.ErrorAs(r.t, err, &e)
			require.ErrorIs(r.t, err, device.ErrOutOfMemory)
			require.Equal(r.t, []int{1}, e.Ranks)
			require.Contains(r.t, e.Texts[0], "bytes come")
		}
		whole, err := d.Gather(r, 0)
		if err != nil {
			return err
		}
		whole.Release()
		return nil
	}) {
		require.NoError(t, err, "rank %d", r)
	}
}

// A context that ends on one rank ends the operation on all, at once.
func TestOneRankIsCanceled(t *testing.T) {
	b := open(t, nil)
	for r, err := range groupOn(t, 3, func(int) *kernels.Backend { return b }, func(r *rank) error {
		ctx, cancel := context.WithCancel(r)
		defer cancel()
		d, err := r.spread(newSource("even", 1, 60, 3), "")
		if err == nil {
			defer d.Release()
			if r.id() == 2 {
				cancel()
			}
			_, err = d.Shuffle(ctx, Hash("k"))
		}
		require.ErrorIs(r.t, err, device.ErrCanceled)
		var f *collective.Fault
		require.ErrorAs(r.t, err, &f)
		require.Equal(r.t, []int{2}, f.Ranks)
		_, err = New(r, r.comm, nil)
		require.ErrorAs(r.t, err, &f, "the Comm has ended")
		return nil
	}) {
		require.NoError(t, err, "rank %d", r)
	}
}
