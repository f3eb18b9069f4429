package distributed

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/table"
)

// rightSizes are numbers of rows on the right, beside 40 on the left.
var rightSizes = []int{36, 4, 90}

var kinds = []table.Kind{table.Inner, table.Left, table.Right, table.Full, table.Semi, table.Anti, table.Cross}

// joins holds a Join against the local one of all rows.
func (r *rank) joins(left, right *Table, wholeLeft, wholeRight *table.Table, kind table.Kind, options ...table.JoinOption) (*Table, error) {
	got, err := left.Join(r, right, kind, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	o := got.start(r, "test", "")
	all := o.everywhere(got.Schema(), o.once(got))
	defer all.Release()
	if err := o.meet(); err != nil {
		got.Release()
		return nil, err
	}
	if r.id() > 0 {
		return got, nil
	}
	want, err := wholeLeft.Query().Join(wholeRight, kind, options...).Collect(r)
	if err != nil {
		return nil, err
	}
	defer want.Release()
	require.Equal(r.t, names(want.Schema()), names(got.Schema()))
	a, b := rows(want), rows(all)
	slices.Sort(a)
	slices.Sort(b)
	require.Equal(r.t, a, b, "%s", kind)
	return got, nil
}

// way names how a join has moved rows, by what is known of its result.
func (p Partitioning) way() string {
	switch {
	case p.Scheme != Hashed:
		return "broadcast"
	case p.Apart:
		return "heavy keys"
	}
	return "shuffle"
}

// Every kind on rows of every shape, where the right side is as large, smaller and larger than the left one; with a residual condition too, where the kind may
// have one.
func TestJoinIsTheLocalJoin(t *testing.T) {
	residual := map[string]bool{}
	for _, n := range sizes {
		for i, shape := range shapes {
			for at, size := range rightSizes {
				if at > 0 && (n%2 == 0 || shape == "one key") {
					continue // other numbers of ranks, and shapes with fewer pairs, have these
				}
				t.Run(fmt.Sprintf("%s on %d, %d rows", shape, n, size), func(t *testing.T) {
					l, s := newSource(shape, uint64(i), 40, n), newSource(shape, uint64(i+50), size, n)
					each(t, n, func(r *rank) error {
						wholeLeft, wholeRight := l.whole(r.backend, ""), s.whole(r.backend, "r")
						defer wholeLeft.Release()
						defer wholeRight.Release()
						left, err := r.spread(l, "")
						if err != nil {
							return err
						}
						defer left.Release()
						right, err := r.spread(s, "r")
						if err != nil {
							return err
						}
						defer right.Release()
						for _, kind := range kinds {
							if kind == table.Cross && (size > 36 || shape == "one key") {
								continue
							}
							var options []table.JoinOption
							if kind != table.Cross {
								options = append(options, table.Keys("k", "rk"))
							}
							got, err := r.joins(left, right, wholeLeft, wholeRight, kind, options...)
							if err != nil {
								return err
							}
							got.Release()
							if !slices.Contains([]table.Kind{table.Inner, table.Left, table.Semi, table.Anti}, kind) {
								continue
							}
							got, err = r.joins(left, right, wholeLeft, wholeRight, kind, append(options, table.Where("(v + rv) % 3 = 0 and rv < 30"))...)
							if err != nil {
								return fmt.Errorf("residual: %w", err)
							}
							if r.id() == 0 && n > 1 {
								residual[kind.String()+" by "+got.Partitioning().way()] = true
							}
							got.Release()
						}
						got, err := r.joins(left, right, wholeLeft, wholeRight, table.Full, table.Keys("k", "rk"), table.Keys("d", "rs"), table.NullsEqual())
						if err != nil {
							return err
						}
						got.Release()
						return nil
					})
				})
			}
		}
	}
	for _, way := range []string{"broadcast", "shuffle", "heavy keys"} {
		for _, kind := range []string{"inner", "left", "semi", "anti"} {
			require.True(t, residual[kind+" by "+way] || !backends.OnHost(), "no residual condition of %s joins by %s: %v", kind, way, residual)
		}
	}
}

// Sides that are spread by the keys already are not moved again, also where only some of the keys are.
func TestJoinUsesWhatIsKnown(t *testing.T) {
	each(t, 3, func(r *rank) error {
		l, s := newSource("null keys", 3, 60, 3), newSource("even", 4, 50, 3)
		wholeLeft, wholeRight := l.whole(r.backend, ""), s.whole(r.backend, "")
		defer wholeLeft.Release()
		defer wholeRight.Release()
		left, err := r.spread(l, "")
		if err != nil {
			return err
		}
		defer left.Release()
		right, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer right.Release()
		first, err := r.joins(left, right, wholeLeft, wholeRight, table.Left, table.On("k"))
		if err != nil {
			return err
		}
		defer first.Release()
		require.Equal(r.t, Hashed, first.Partitioning().Scheme)
		require.False(r.t, first.Partitioning().Together("k"), "nulls stay where they are")
		wholeFirst, err := wholeLeft.Query().Join(wholeRight, table.Left, table.On("k")).Collect(r)
		if err != nil {
			return err
		}
		defer wholeFirst.Release()
		for _, on := range [][]string{{"k"}, {"s", "k"}} {
			second, err := r.joins(first, right, wholeFirst, wholeRight, table.Inner, table.On(on...), table.Suffix("_second"))
			if err != nil {
				return err
			}
			defer second.Release()
			require.Equal(r.t, first.Partitioning().Buckets, second.Partitioning().Buckets)
			require.True(r.t, second.Partitioning().Together("k"))
			a, b := wholeOf(r, second), wholeOf(r, first)
			third, err := r.joins(second, first, a, b, table.Semi, table.On("k"))
			a.Release()
			b.Release()
			if err != nil {
				return err
			}
			third.Release()
		}
		all, err := right.Replicate(r)
		if err != nil {
			return err
		}
		defer all.Release()
		for _, kind := range kinds[:6] {
			for _, pair := range [][2]*Table{{left, all}, {all, left}, {all, all}} {
				whole := func(d *Table) *table.Table {
					if d == all {
						return wholeRight
					}
					return wholeLeft
				}
				got, err := r.joins(pair[0], pair[1], whole(pair[0]), whole(pair[1]), kind, table.On("k"))
				if err != nil {
					return err
				}
				got.Release()
			}
		}
		return nil
	})
}

// What a join leaves on several ranks, rows of frequent and of null keys, a later one finds.
func TestJoinAfterJoin(t *testing.T) {
	for i, shape := range []string{"zipf", "null keys"} {
		l, s := newSource(shape, uint64(i), 80, 3), newSource(shape, uint64(i+9), 60, 3)
		each(t, 3, func(r *rank) error {
			wholeLeft, wholeRight := l.whole(r.backend, ""), s.whole(r.backend, "r")
			defer wholeLeft.Release()
			defer wholeRight.Release()
			left, err := r.spread(l, "")
			if err != nil {
				return err
			}
			defer left.Release()
			right, err := r.spread(s, "r")
			if err != nil {
				return err
			}
			defer right.Release()
			first, err := r.joins(left, right, wholeLeft, wholeRight, table.Left, table.Keys("k", "rk"))
			if err != nil {
				return err
			}
			defer first.Release()
			require.Equal(r.t, Hashed, first.Partitioning().Scheme)
			require.False(r.t, first.Partitioning().Together("k"))
			whole, err := wholeLeft.Query().Join(wholeRight, table.Left, table.Keys("k", "rk")).Collect(r)
			if err != nil {
				return err
			}
			defer whole.Release()
			for _, options := range [][]table.JoinOption{nil, {table.NullsEqual()}} {
				options = append(options, table.Keys("k", "k"), table.Suffix("_2"))
				second, err := r.joins(first, first, whole, whole, table.Semi, options...)
				if err != nil {
					return err
				}
				second.Release()
				if second, err = r.joins(first, left, whole, wholeLeft, table.Full, options...); err != nil {
					return err
				}
				second.Release()
			}
			again, err := first.Shuffle(r, Hash("k"))
			if err != nil {
				return err
			}
			defer again.Release()
			require.True(r.t, again.Partitioning().Together("k"))
			return nil
		})
	}
}

// A key that all rows have does not go to one rank, where the kind allows that.
func TestJoinSpreadsHeavyKeys(t *testing.T) {
	const n = 4
	for _, kind := range []table.Kind{table.Inner, table.Left, table.Right} {
		each(t, n, func(r *rank) error {
			var heavy, few []int64
			for i := range 300 {
				heavy = append(heavy, int64(map[bool]int{true: 7, false: i}[i%2 == 0]))
			}
			for i := range 250 {
				few = append(few, int64(i*n+r.id()))
			}
			if kind == table.Right {
				heavy, few = few, heavy
			}
			a, b := ints(r.backend, "k", heavy), ints(r.backend, "k", few)
			defer a.Release()
			defer b.Release()
			left, err := New(r, r.comm, a)
			if err != nil {
				return err
			}
			defer left.Release()
			right, err := New(r, r.comm, b)
			if err != nil {
				return err
			}
			defer right.Release()
			got, err := left.Join(r, right, kind, table.On("k"))
			if err != nil {
				return err
			}
			defer got.Release()
			require.Less(r.t, balanced(got.Counts()), 1.5, "%s: %v", kind, got.Counts())
			require.False(r.t, got.Partitioning().Together("k"))
			return nil
		})
	}
}

func TestJoinRefuses(t *testing.T) {
	each(t, 2, func(r *rank) error {
		part, texts := ints(r.backend, "k", []int64{1, 2}), ints(r.backend, "k", []string{"a"})
		defer part.Release()
		defer texts.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		e, err := New(r, r.comm, texts)
		if err != nil {
			return err
		}
		defer e.Release()
		second, err := r.comm.Sub(r, []int{0, 1})
		if err != nil {
			return err
		}
		defer second.Close()
		elsewhere, err := New(r, second, part)
		if err != nil {
			return err
		}
		defer elsewhere.Release()
		for _, c := range []struct {
			other *Table
			on    []table.JoinOption
			want  string
		}{
			{e, []table.JoinOption{table.On("k")}, "cannot match"},
			{nil, []table.JoinOption{table.On("k")}, "no table given"},
			{d, []table.JoinOption{table.On("q")}, `"q"`},
			{d, nil, "0 keys"},
			{elsewhere, []table.JoinOption{table.On("k")}, "different Comms"},
		} {
			_, err := d.Join(r, c.other, table.Inner, c.on...)
			require.ErrorIs(r.t, err, device.ErrMismatch)
			require.ErrorContains(r.t, err, c.want)
		}
		for _, c := range []struct {
			operation string
			call      func() error
		}{
			{"Union", func() error { _, err := d.Union(r, d, elsewhere); return err }},
			{"Intersect", func() error { _, err := d.Intersect(r, elsewhere); return err }},
			{"Except", func() error { _, err := d.Except(r, elsewhere); return err }},
			{"Equal", func() error { _, err := d.Equal(r, elsewhere); return err }},
			{"EqualRows", func() error { _, err := d.EqualRows(r, elsewhere); return err }},
		} {
			err := c.call()
			require.ErrorIs(r.t, err, device.ErrMismatch)
			require.ErrorContains(r.t, err, "distributed "+c.operation)
			require.ErrorContains(r.t, err, "on another Comm")
		}
		_, err = d.Join(r, d, []table.Kind{table.Inner, table.Left}[r.id()], table.On("k"))
		require.ErrorContains(r.t, err, "(inner on k = k); rank 1: it calls distributed Join")
		return nil
	})
}

// wholeOf is all rows of a table, on every rank.
func wholeOf(r *rank, d *Table) *table.Table {
	o := d.start(r, "test", "")
	all := o.everywhere(d.Schema(), o.once(d))
	require.NoError(r.t, o.meet())
	return all
}
