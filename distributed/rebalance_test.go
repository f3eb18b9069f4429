package distributed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

func TestRebalanceKeepsOrder(t *testing.T) {
	everyShape(t, 100, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		before, err := r.all(d)
		if err != nil {
			return err
		}
		for _, m := range []Measure{ByRows, ByBytes} {
			h, err := d.Rebalance(r, m)
			if err != nil {
				return err
			}
			defer h.Release()
			after, err := r.all(h)
			if err != nil {
				return err
			}
			require.Equal(r.t, before, after)
			require.LessOrEqual(r.t, balanced(h.Counts()), 1.35) // of 100 rows
		}
		last := make([]int64, r.comm.Size())
		last[len(last)-1] = d.NumRows()
		h, err := d.Repartition(r, last)
		if err != nil {
			return err
		}
		defer h.Release()
		require.Equal(r.t, last, h.Counts())
		after, err := r.all(h)
		if err != nil {
			return err
		}
		require.Equal(r.t, before, after)
		return nil
	})
}

func TestGatherScatterBroadcast(t *testing.T) {
	everyShape(t, 50, func(r *rank, s *source) error {
		root := r.comm.Size() / 2
		var whole *table.Table
		if r.id() == root {
			whole = s.whole(r.backend, "")
			defer whole.Release()
		}
		d, err := Scatter(r, r.comm, r.backend, whole, root)
		if err != nil {
			return err
		}
		defer d.Release()
		require.Equal(r.t, int64(len(s.k)), d.NumRows())
		back, err := d.Gather(r, root)
		if err != nil {
			return err
		}
		defer back.Release()
		if r.id() == root {
			require.Equal(r.t, rows(whole), rows(back))
		} else {
			require.Nil(r.t, back)
		}
		b, err := Broadcast(r, r.comm, r.backend, whole, root)
		if err != nil {
			return err
		}
		defer b.Release()
		require.Equal(r.t, Replicated, b.Partitioning().Scheme)
		require.Equal(r.t, d.NumRows(), b.NumRows())
		require.Equal(r.t, d.NumRows(), b.Local().NumRows())
		all, err := d.Replicate(r)
		if err != nil {
			return err
		}
		defer all.Release()
		require.Equal(r.t, rows(b.Local()), rows(all.Local()))
		// A replicated table has each row once.
		once, err := b.Rebalance(r)
		if err != nil {
			return err
		}
		defer once.Release()
		back, err = once.Gather(r, root)
		if err != nil {
			return err
		}
		defer back.Release()
		if r.id() == root {
			require.Equal(r.t, rows(whole), rows(back))
		}
		return nil
	})
}

func TestMovesRefuse(t *testing.T) {
	each(t, 2, func(r *rank) error {
		part := ints(r.backend, "k", []int64{1, 2})
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		for _, counts := range [][]int64{{4}, {5, -1}, {1, 1}, nil, {1 << 62, 1 << 62}} {
			_, err := d.Repartition(r, counts)
			require.ErrorIs(r.t, err, device.ErrMismatch)
		}
		_, err = d.Gather(r, 2)
		require.ErrorContains(r.t, err, "root 2 is not one of 2 ranks")
		_, err = d.Rebalance(r, Measure(9))
		require.ErrorIs(r.t, err, device.ErrUnsupported)
		for _, give := range []*table.Table{nil, part} { // no root's, then one too many
			_, err = Scatter(r, r.comm, r.backend, give, 0)
			require.ErrorIs(r.t, err, device.ErrMismatch)
		}
		_, err = Broadcast(r, r.comm, nil, nil, 0)
		require.ErrorContains(r.t, err, "no backend given")
		return nil
	})
}
