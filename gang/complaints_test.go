//go:build unix

package gang

import (
	"context"
	"errors"
	"flag"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
)

// Calls from many goroutines wait for each other, and every one has its end, the last too.
func TestManyCalls(t *testing.T) {
	each(t, 2, func(t *testing.T, g *Gang) {
		var all sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			all.Go(func() {
				refs, err := g.Run(bounded(t), "echo", int64(i))
				for _, r := range refs {
					var v any
					if v, errs[i] = g.Get(bounded(t), r); errs[i] != nil {
						return
					}
					if got := v.([]any)[0]; got != int64(i) {
						errs[i] = errors.New("the answer of another call")
						return
					}
				}
				errs[i] = err
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
	})
}

// Two workers that are killed at once: the call has an error that names one of them or both, and the whole starts again.
func TestTwoDeaths(t *testing.T) {
	g := start(t, program(t), Options{Workers: 4})
	pids := results(t, g, "pid")
	for _, rank := range []int{1, 3} {
		require.NoError(t, syscall.Kill(int(pids[rank].(int64)), syscall.SIGKILL))
	}
	_, err := g.Run(bounded(t), "sum")
	var f *collective.Fault
	require.ErrorAs(t, err, &f)
	require.Subset(t, []int{1, 3}, f.Ranks)
	require.NotEmpty(t, f.Ranks)
	require.NoError(t, g.Restart(bounded(t)))
	require.Equal(t, []any{int64(6), int64(6), int64(6), int64(6)}, results(t, g, "sum"))
	refs, err := g.Run(context.WithoutCancel(bounded(t)), "sum")
	require.NoError(t, err)
	require.Len(t, refs, 4)
}

// kills is how often TestKillsAndRestarts kills: 20 and more by hand.
var kills = flag.Int("kills", 5, "rounds of TestKillsAndRestarts")

// A worker is killed again and again, between calls and in the middle of one, and all of them at once: each time the whole starts again and works.
func TestKillsAndRestarts(t *testing.T) {
	const workers = 2
	g := start(t, program(t), Options{Workers: workers})
	for round := range *kills {
		pids := results(t, g, "pid")
		var f *collective.Fault
		switch round % 3 {
		case 0:
			require.NoError(t, syscall.Kill(int(pids[round%workers].(int64)), syscall.SIGKILL))
		case 1:
			_, err := g.Run(bounded(t), "die", round%workers)
			require.ErrorAs(t, err, &f)
		case 2:
			for _, pid := range pids {
				require.NoError(t, syscall.Kill(int(pid.(int64)), syscall.SIGKILL))
			}
		}
		require.NoError(t, g.Restart(bounded(t)))
		generation, err := g.Generation()
		require.NoError(t, err)
		require.EqualValues(t, round+2, generation)
		require.Equal(t, []any{int64(1), int64(1)}, results(t, g, "sum"))
	}
}

// All workers have died, and the start knows it: no call waits, and the whole starts again.
func TestAllDead(t *testing.T) {
	g := start(t, program(t), Options{Workers: 3})
	for _, pid := range results(t, g, "pid") {
		require.NoError(t, syscall.Kill(int(pid.(int64)), syscall.SIGKILL))
	}
	var f *collective.Fault
	for rank := range 3 {
		_, err := g.Recv(bounded(t), rank, 1)
		lost(t, err, rank)
	}
	_, err := g.Run(bounded(t), "sum")
	require.ErrorAs(t, err, &f)
	require.NoError(t, g.Restart(bounded(t)))
	require.Equal(t, []any{int64(3), int64(3), int64(3)}, results(t, g, "sum"))
}
