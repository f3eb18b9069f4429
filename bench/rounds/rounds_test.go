package rounds

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
)

// falling gives less from the third reading on, for so many.
type falling struct{ reads, low int }

func (f *falling) Read(context.Context) (report.Reading, error) {
	f.reads++
	if f.reads > 2 && f.reads <= 2+f.low {
		return report.Reading{CopyGBs: 1}, nil
	}
	return report.Reading{CopyGBs: 10}, nil
}

// race runs two engines, the second of which fails in one turn.
func race(t *testing.T, low int, fails func(turn int) error) (order string, kept []int, taken Taken, added int64, err error) {
	t.Helper()
	kept = make([]int, 2)
	all := make([]*Racer[int], 2)
	for i := range all {
		turns := 0
		all[i] = &Racer[int]{
			Turn: func(context.Context) (int, error) {
				turns++
				order += fmt.Sprint(i)
				if i == 1 && fails != nil {
					return turns, fails(turns)
				}
				return turns, nil
			},
			Keep: func(n int) { kept[i]++ },
		}
	}
	r := &Race{Gauge: &falling{low: low}, Add: func(n int64) { added += n }}
	taken, err = Run(t.Context(), r, 3, all)
	return order, kept, taken, added, err
}

// Turns move on by one each round, and rounds beside which the machine gave less are run again, a few times.
func TestRounds(t *testing.T) {
	order, kept, taken, added, err := race(t, 0, nil)
	require.NoError(t, err)
	require.Equal(t, "011001", order)
	require.Equal(t, []int{3, 3}, kept)
	require.Zero(t, taken)
	require.EqualValues(t, 3, added)
	_, kept, taken, _, err = race(t, 1, nil)
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, kept)
	require.Equal(t, Taken{Retaken: 2}, taken) // the round before the low reading, and the one behind it
	_, kept, taken, _, err = race(t, 100, nil)
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, kept)
	require.Equal(t, Taken{Retaken: 6, Unsteady: 2}, taken)
}

// A peer that fails, or dies, takes no more turns; what else goes wrong ends the race.
func TestFailures(t *testing.T) {
	for _, why := range []error{&worker.Failure{Engine: "x", Text: "it cannot"}, &worker.Died{Engine: "x", State: "killed"}} {
		order, kept, _, _, err := race(t, 0, func(turn int) error {
			if turn == 2 {
				return why
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "01100", order)
		require.Equal(t, []int{3, 1}, kept)
	}
	other := errors.New("the disk is full")
	_, _, _, _, err := race(t, 0, func(int) error { return other })
	require.ErrorIs(t, err, other)
}
