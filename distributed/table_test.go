package distributed

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

func TestNewCountsTheRowsOfAll(t *testing.T) {
	for _, n := range sizes {
		each(t, n, func(r *rank) error {
			part := ints(r.backend, "k", make([]int64, r.id()))
			defer part.Release()
			d, err := New(r, r.comm, part)
			if err != nil {
				return err
			}
			defer d.Release()
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(i)
			}
			require.Equal(t, want, d.Counts())
			require.Equal(t, int64(n*(n-1)/2), d.NumRows())
			require.Equal(t, part.NumRows(), d.Local().NumRows())
			require.Equal(t, Unknown, d.Partitioning().Scheme)
			return nil
		})
	}
}

func TestExchangeKeepsSourceOrder(t *testing.T) {
	for _, n := range sizes {
		each(t, n, func(r *rank) error {
			var parts []*table.Table
			for to := range n {
				parts = append(parts, ints(r.backend, "from", []int64{int64(r.id()), int64(r.id())}, "to", []int64{int64(to), int64(to + 10)}))
				defer parts[to].Release()
			}
			got, err := Exchange(r, r.comm, parts)
			if err != nil {
				return err
			}
			defer got.Release()
			var want []string
			for from := range n {
				want = append(want, fmt.Sprintf("%d|%d", from, r.id()), fmt.Sprintf("%d|%d", from, r.id()+10))
			}
			require.Equal(t, want, rows(got))
			return nil
		})
	}
}

// An error of one rank, and calls that differ, are one error on all; the Comm goes on.
func TestErrorsOfOneRankReachAll(t *testing.T) {
	for what, c := range map[string]struct {
		call func(r *rank) error
		want string
	}{
		"nil part": {func(r *rank) error {
			part := ints(r.backend, "k", []int64{1})
			defer part.Release()
			if r.id() == 1 {
				_, err := New(r, r.comm, nil)
				return err
			}
			_, err := New(r, r.comm, part)
			return err
		}, "distributed New #1: rank 1: mismatch: no table given"},
		"names": {func(r *rank) error {
			part := ints(r.backend, map[bool]string{true: "k", false: "q"}[r.id() == 2], []int64{1})
			defer part.Release()
			_, err := New(r, r.comm, part)
			return err
		}, `distributed New #1: ranks 0, 1: its columns are "q"; rank 2: its columns are "k"`},
		"types": {func(r *rank) error {
			part := ints(r.backend, "k", []int64{1})
			if r.id() == 0 {
				part.Release()
				part = ints(r.backend, "k", []string{"a"})
			}
			defer part.Release()
			_, err := New(r, r.comm, part)
			return err
		}, `distributed New #1: rank 0: column "k" is of type utf8; ranks 1, 2: column "k" is of type int64`},
		"calls": {func(r *rank) error {
			part := ints(r.backend, "k", []int64{1})
			defer part.Release()
			if r.id() == 2 {
				_, err := Exchange(r, r.comm, []*table.Table{part, part, part})
				return err
			}
			_, err := New(r, r.comm, part)
			return err
		}, "ranks 0, 1: it calls distributed New #1; rank 2: it calls distributed Exchange #1"},
		"parts": {func(r *rank) error {
			part := ints(r.backend, "k", []int64{1})
			defer part.Release()
			_, err := Exchange(r, r.comm, []*table.Table{part, part, part}[:2+r.id()%2])
			return err
		}, "distributed Exchange #1: ranks 0, 2: mismatch: 2 parts for 3 ranks"},
	} {
		t.Run(what, func(t *testing.T) {
			each(t, 3, func(r *rank) error {
				err := c.call(r)
				var e *agree.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.want, e.Error())
				require.ErrorIs(t, err, device.ErrMismatch)
				return nil // the Comm goes on, as each holds
			})
		})
	}
}

// Parts without rows, and columns of nulls, take the types of the others.
func TestEmptyAndNullTakeTheTypesOfTheOthers(t *testing.T) {
	nothing := arrow.NewSchema(nil, nil)
	null := arrow.NewSchema([]arrow.Field{{Name: "k", Type: int64s}, {Name: "s", Type: arrow.Null}}, nil)
	each(t, 4, func(r *rank) error {
		var part *table.Table
		var err error
		switch r.id() {
		case 0:
			part, err = table.NewTable(r.backend, nothing, nil)
		case 1:
			part, err = table.NewTable(r.backend, null, nil)
		case 2:
			part, err = table.New(r.backend, table.Column("k", []int64{1, 2}), table.Column("s", []string{"a", "b"}))
		case 3:
			nulls, _ := memory.NewColumn(memory.Parts{Type: arrow.Null, Len: 1, Place: r.backend.Device.Place()})
			defer nulls.Release()
			part, err = table.New(r.backend, table.Column("k", []int64{3}), table.Column("s", nulls))
		}
		if err != nil {
			return err
		}
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		require.Equal(t, arrow.BinaryTypes.String, d.Schema().Field(1).Type)
		require.Equal(t, []int64{0, 0, 2, 1}, d.Counts())
		if r.id() == 3 {
			require.Equal(t, []string{"3|null"}, rows(d.Local()))
		}
		return nil
	})
}
