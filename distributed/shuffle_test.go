package distributed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// everyShape runs f on groups of all sizes for rows of all shapes.
func everyShape(t *testing.T, rows int, f func(r *rank, d *source) error) {
	for _, n := range sizes {
		for i, shape := range shapes {
			t.Run(fmt.Sprintf("%s on %d", shape, n), func(t *testing.T) {
				d := newSource(shape, uint64(i), rows, n)
				each(t, n, func(r *rank) error { return f(r, d) })
			})
		}
	}
}

func TestShuffleByHash(t *testing.T) {
	everyShape(t, 300, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		h, err := d.Shuffle(r, Hash("k"))
		if err != nil {
			return err
		}
		defer h.Release()
		before, err := r.all(d)
		if err != nil {
			return err
		}
		after, err := r.all(h)
		if err != nil {
			return err
		}
		require.ElementsMatch(r.t, before, after)
		require.True(r.t, h.Partitioning().Together("k") && h.Partitioning().Together("v", "k") && !h.Partitioning().Together("v"))
		// A key is on one rank, and there in the order of all rows.
		where, at := map[string]int{}, 0
		for rank, n := range h.Counts() {
			last := map[string]int{}
			for range n {
				row := after[at]
				at++
				key, _, _ := strings.Cut(row, "|")
				if other, is := where[key]; is {
					require.Equal(r.t, other, rank, "key %s", key)
				}
				where[key] = rank
				place := slices.Index(before, row)
				require.True(r.t, last[key] <= place, "order of key %s", key)
				last[key] = place
			}
		}
		again, err := h.Shuffle(r, Hash("k"))
		if err != nil {
			return err
		}
		defer again.Release()
		for i, chunk := range again.Local().Chunks() {
			require.Same(r.t, h.Local().Chunks()[i], chunk) // it did not move
		}
		return nil
	})
}

func TestShuffleByRange(t *testing.T) {
	everyShape(t, 1500, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		order := []table.Order{table.Desc("k"), table.Asc("d").NullsFirst()}
		h, err := d.Shuffle(r, Range(order...))
		if err != nil {
			return err
		}
		defer h.Release()
		sorted, err := h.Local().Query().Sort(order...).Collect(r)
		if err != nil {
			return err
		}
		defer sorted.Release()
		e, err := New(r, r.comm, sorted)
		if err != nil {
			return err
		}
		defer e.Release()
		got, err := r.all(e)
		if err != nil {
			return err
		}
		whole := s.whole(r.backend, "")
		defer whole.Release()
		want, err := whole.Query().Sort(order...).Collect(r)
		if err != nil {
			return err
		}
		defer want.Release()
		require.Equal(r.t, rows(want), got) // globally stable
		require.Less(r.t, balanced(h.Counts()), 1.1)
		require.Equal(r.t, Ranged, h.Partitioning().Scheme)
		return nil
	})
}

func TestShuffleRoundRobin(t *testing.T) {
	everyShape(t, 100, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		h, err := d.Shuffle(r, RoundRobin())
		if err != nil {
			return err
		}
		defer h.Release()
		before, err := r.all(d)
		if err != nil {
			return err
		}
		var want []string
		for i := r.id(); i < len(before); i += r.comm.Size() {
			want = append(want, before[i])
		}
		require.Equal(r.t, want, rows(h.Local()))
		return nil
	})
}

func TestShuffleRefuses(t *testing.T) {
	each(t, 2, func(r *rank) error {
		part := ints(r.backend, "k", []int64{1, 2})
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		for _, by := range []By{Hash("q"), Hash(), Range(), Range(table.Asc("q")), Range(table.Asc(7))} {
			_, err := d.Shuffle(r, by)
			require.ErrorIs(r.t, err, device.ErrMismatch)
			require.ErrorContains(r.t, err, "distributed Shuffle")
		}
		_, err = d.Shuffle(r, Hash([]string{"k", "q"}[r.id()]))
		require.ErrorContains(r.t, err, "rank 0: it calls distributed Shuffle #7 (by hash of k); rank 1: it calls distributed Shuffle #7 (by hash of q)")
		return nil
	})
}
