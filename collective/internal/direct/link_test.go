package direct

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/internal/ncclemu"
	"github.com/volley-go/volley/memory"
)

const ranks = 3

// member is one rank of a test.
type member struct {
	c   *collective.Comm
	own Equipment
	ids []int64
	s   device.Stream
	b   *memory.Buffer
}

// on runs f on ranks, each with a GPU of its own, and gives what it returns; then no communicator is left. Where there are not so many GPUs it
// does nothing.
func on(t *testing.T, f func(ctx context.Context, m *member) error) []error {
	t.Helper()
	if os.Getenv("VOLLEY_CUDA_LIBRARY") == "" {
		if !dl.Available || cuemu.Missing() != "" {
			t.Log("neither CUDA nor the emulated driver here: " + cuemu.Missing())
			return nil
		}
		t.Setenv("CUEMU_DEVICES", "4")
		require.NoError(t, errors.Join(ncclemu.Start(t.Context()), cuemu.Start(t.Context())))
	}
	infos, err := cuda.List()
	require.NoError(t, err)
	if len(infos) < ranks {
		t.Logf("%d GPUs", len(infos))
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make([]error, ranks)
	var all sync.WaitGroup
	for r, end := range inproc.New(ranks) {
		all.Go(func() {
			errs[r] = func() error {
				d, err := cuda.Open(r)
				if err != nil {
					return err
				}
				defer d.Close()
				m := &member{ids: make([]int64, ranks)}
				if m.own, err = Find(d); err != nil {
					return err
				}
				if m.s, err = d.NewStream(); err != nil {
					return err
				}
				defer m.s.Close()
				if m.b, err = memory.New(d.Memory(), 1000); err != nil {
					return err
				}
				defer m.b.Release()
				if m.c, err = collective.New(end, collective.Options{Deadline: time.Minute}); err != nil {
					return err
				}
				defer m.c.Close()
				if err := m.c.AllGather(ctx, collective.Of([]int64{m.own.ID}), collective.Of(m.ids)); err != nil {
					return err
				}
				return f(ctx, m)
			}()
		})
	}
	all.Wait()
	left, err := ncclemu.Comms()
	if !errors.Is(err, ncclemu.ErrReal) {
		require.NoError(t, err)
		require.Zero(t, left, "communicators")
	}
	return errs
}

// A Comm has one link for the same GPUs, and one that is made of it another.
func TestOneForAComm(t *testing.T) {
	for _, err := range on(t, func(ctx context.Context, m *member) error {
		first, err := Of(ctx, m.c, m.own, m.ids)
		if err != nil {
			return err
		}
		again, err := Of(ctx, m.c, m.own, m.ids)
		if err != nil {
			return err
		}
		require.Same(t, first, again)
		sub, err := m.c.Sub(ctx, []int{0, 1, 2})
		if err != nil {
			return err
		}
		other, err := Of(ctx, sub, m.own, m.ids)
		if err != nil {
			return err
		}
		require.NotSame(t, first, other)
		if err := m.c.Barrier(ctx); err != nil {
			return err
		}
		return sub.Close()
	}) {
		require.NoError(t, err)
	}
}

// Two ranks of one GPU, and a rank without, are refused alike on all ranks.
func TestRefuses(t *testing.T) {
	for _, err := range on(t, func(ctx context.Context, m *member) error {
		for text, ids := range map[string][]int64{"ranks 0 and 2 have the same GPU": {5, 6, 5}, "rank 1 has no GPU": {5, 0, 6}} {
			_, err := Of(ctx, m.c, m.own, ids)
			require.ErrorIs(t, err, device.ErrUnavailable)
			require.ErrorContains(t, err, text)
		}
		_, err := Find(host.New())
		require.ErrorContains(t, err, "is no GPU of CUDA")
		return nil
	}) {
		require.NoError(t, err)
	}
}

// What goes wrong on one rank behind the agreement is one Fault on all that names it: NCCL that fails there, and a context that ends.
func TestFaultNamesTheRank(t *testing.T) {
	for _, what := range []string{"fails", "canceled"} {
		for r, err := range on(t, func(ctx context.Context, m *member) error {
			link, err := Of(ctx, m.c, m.own, m.ids)
			if err != nil {
				return err
			}
			peer := func(step int) nccl.Part {
				return nccl.Part{Peer: (m.c.Rank() + step) % ranks, Vector: nccl.Vector{Buffer: m.b, Offset: int64(step) * 100, Len: 100}}
			}
			if err := link.Exchange(ctx, m.s, "move", []nccl.Part{peer(1)}, []nccl.Part{peer(2)}); err != nil {
				return errors.Join(errors.New("the first"), err)
			}
			if err := m.c.Barrier(ctx); err != nil {
				return err
			}
			sends := []nccl.Part{peer(1)}
			if m.c.Rank() == 1 && what == "fails" {
				link.Abort()
			} else if m.c.Rank() == 1 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
			}
			if what == "canceled" && m.c.Rank() == 0 { // rank 1 waits for it until its context ends
				sends = nil
			}
			if err := link.Exchange(ctx, m.s, "move", sends, []nccl.Part{peer(2)}); err != nil {
				return err
			}
			return m.c.Barrier(ctx) // for a rank whose own parts have gone and come
		}) {
			var f *collective.Fault
			require.ErrorAs(t, err, &f, "%s: rank %d", what, r)
			require.Equal(t, []int{1}, f.Ranks, "%s: rank %d: %v", what, r, err)
			require.NotContains(t, err.Error(), "the first")
		}
	}
}
