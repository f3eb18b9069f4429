package distributed

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Where samples show that the distinct rows of a rank would be no fewer than its rows, all go, and the result is the same.
func TestSetsOfRowsThatAreDistinct(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	groupLimits.sample = 8
	for _, giveUp := range []float64{-1, 0.5, 2} { // never reduced, if samples say so, always
		groupLimits.giveUp = giveUp
		setsAsOnOneRank(t, 3)
		everyShape(t, 90, func(r *rank, s *source) error {
			d, err := r.spread(s, "")
			if err != nil {
				return err
			}
			defer d.Release()
			got, err := d.Distinct(r, "k")
			if err != nil {
				return err
			}
			defer got.Release()
			whole := s.whole(r.backend, "")
			defer whole.Release()
			want, err := whole.Query().Distinct("k").Collect(r)
			if err != nil {
				return err
			}
			defer want.Release()
			have, err := r.all(got)
			if err != nil {
				return err
			}
			require.Equal(r.t, strings.Join(rows(want), "\n"), strings.Join(have, "\n"))
			return nil
		})
	}
}

// TestSetsAsOnOneRank: Intersect and Except give the rows of the local ones, and Union all rows.
func TestSetsAsOnOneRank(t *testing.T) { setsAsOnOneRank(t, sizes...) }

func setsAsOnOneRank(t *testing.T, sizes ...int) {
	for _, n := range sizes {
		for i, shape := range shapes {
			each(t, n, func(r *rank) error {
				left, right := newSource(shape, uint64(i), 100, n), newSource("even", uint64(i), 60, n)
				l, m := left.whole(r.backend, ""), right.whole(r.backend, "")
				defer l.Release()
				defer m.Release()
				a, err := r.spread(left, "")
				if err != nil {
					return err
				}
				defer a.Release()
				b, err := r.spread(right, "")
				if err != nil {
					return err
				}
				defer b.Release()
				a, err = a.Select(r, "k", "s")
				if err != nil {
					return err
				}
				defer a.Release()
				b, err = b.Select(r, "s", "k")
				if err != nil {
					return err
				}
				defer b.Release()
				x, y := l.Query().Select("k", "s"), m.Query().Select("s", "k")
				for _, c := range []struct {
					got     func() (*Table, error)
					want    *table.Query
					ordered bool
				}{
					{func() (*Table, error) { return a.Intersect(r, b) }, x.Intersect(y), true},
					{func() (*Table, error) { return a.Except(r, b) }, x.Except(y), true},
					{func() (*Table, error) { return a.Union(r, b, a) }, x.Union(y, x), false},
				} {
					got, err := c.got()
					if err != nil {
						return err
					}
					want, err := c.want.Collect(r)
					if err != nil {
						return err
					}
					all, err := r.all(got)
					if err != nil {
						return err
					}
					if c.ordered {
						require.Equal(r.t, rows(want), all)
					} else {
						require.ElementsMatch(r.t, rows(want), all)
					}
					want.Release()
					got.Release()
				}
				return nil
			})
		}
	}
}

// TestNumbersAndTails: rows are numbered over all ranks, and the last are those of all.
func TestNumbersAndTails(t *testing.T) {
	everyShape(t, 90, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		numbered, err := d.WithRowNumber(r, "row", 5)
		if err != nil {
			return err
		}
		defer numbered.Release()
		wrong, err := numbered.Filter(r, "row - 5 != v")
		if err != nil {
			return err
		}
		defer wrong.Release()
		require.Zero(r.t, wrong.NumRows())
		for _, n := range []int64{0, 1, 40, 1 << 60} {
			tail, err := d.Tail(r, n)
			if err != nil {
				return err
			}
			require.Equal(r.t, min(n, d.NumRows()), tail.NumRows())
			all, err := r.all(tail)
			if err != nil {
				return err
			}
			before, err := r.all(d)
			if err != nil {
				return err
			}
			require.True(r.t, slices.Equal(before[len(before)-len(all):], all), "%v", all)
			tail.Release()
		}
		return nil
	})
}

// nested is a table with a list of texts and a struct beside numbers.
func nested(t *testing.T, r *rank, last float64, n int) *table.Table {
	list := array.NewListBuilder(arrowmem.DefaultAllocator, arrow.BinaryTypes.String)
	pair := array.NewStructBuilder(arrowmem.DefaultAllocator, arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true}))
	k := make([]int64, n)
	for i := range n {
		k[i] = int64(i)
		list.Append(i%3 > 0)
		for range i % 3 {
			list.ValueBuilder().(*array.StringBuilder).Append("text")
		}
		pair.Append(true)
		x := float64(i)
		if i == n-1 {
			x = last
		}
		pair.FieldBuilder(0).(*array.Float64Builder).Append(x)
	}
	columns := []table.Series{table.Column("k", k)}
	for i, b := range []array.Builder{list, pair} {
		a := b.NewArray()
		c, err := memory.FromArrow(a)
		require.NoError(t, err)
		a.Release()
		defer c.Release()
		columns = append(columns, table.Column([]string{"list", "pair"}[i], c))
	}
	made, err := table.New(r.backend, columns...)
	require.NoError(t, err)
	return made
}

// TestEqual: tables are equal by their rows and not by where these are; one value more, another
// order, another type or number of rows are seen, of nested columns too.
func TestEqual(t *testing.T) {
	for _, n := range sizes {
		each(t, n, func(r *rank) error {
			cut := func(whole *table.Table, cuts func(rank int64) int64) *Table {
				defer whole.Release()
				from, to := cuts(int64(r.id())), cuts(int64(r.id())+1)
				part, err := sliced(whole, from, to)
				require.NoError(r.t, err)
				defer part.Release()
				d, err := New(r, r.comm, part)
				require.NoError(r.t, err)
				return d
			}
			even := func(rank int64) int64 { return 50 * rank / int64(n) }
			late := func(rank int64) int64 { return map[bool]int64{true: 50}[rank == int64(n)] }
			a, b := cut(nested(r.t, r, 3, 50), even), cut(nested(r.t, r, 3, 50), late)
			c, d := cut(nested(r.t, r, 4, 50), even), cut(nested(r.t, r, math.NaN(), 50), even)
			e := cut(nested(r.t, r, -math.NaN(), 50), late)
			turned, err := a.Sort(r, table.Desc("k"))
			if err != nil {
				return err
			}
			fewer, err := a.Head(r, 49)
			if err != nil {
				return err
			}
			other, err := a.Rename(r, "k", "q")
			if err != nil {
				return err
			}
			all := []*Table{a, b, c, d, e, turned, fewer, other}
			for i, x := range all {
				for k, y := range all {
					same, err := x.Equal(r, y)
					if err != nil {
						return err
					}
					rows, err := x.EqualRows(r, y)
					if err != nil {
						return err
					}
					pair := []int{min(i, k), max(i, k)}
					require.Equal(r.t, i == k || slices.Equal(pair, []int{0, 1}) || slices.Equal(pair, []int{3, 4}), same, "%d and %d", i, k)
					require.Equal(r.t, same || slices.Equal(pair, []int{0, 5}) || slices.Equal(pair, []int{1, 5}), rows, "%d and %d", i, k)
				}
			}
			for _, x := range all {
				x.Release()
			}
			return nil
		})
	}
}
