package distributed

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// sameNumbers holds rows of numbers against others, floats but for their last digits.
func sameNumbers(t *testing.T, want, got []string, within float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := strings.Split(want[i], "|"), strings.Split(got[i], "|")
		require.Len(t, g, len(w))
		for k := range w {
			x, errX := strconv.ParseFloat(w[k], 64)
			y, errY := strconv.ParseFloat(g[k], 64)
			if w[k] == g[k] || errX == nil && errY == nil && math.Abs(x-y) <= within*max(math.Abs(x), 1e-3) {
				continue
			}
			require.Equal(t, want[i], got[i], "row %d", i)
		}
	}
}

// TestScalars: aggregates of all rows are on every rank, those of none too.
func TestScalars(t *testing.T) {
	aggs := append(slices.Clone(sumsAndMore), table.Var("v"), table.Std("v").With(kernels.AggregateOptions{Ddof: 1}).As("std"))
	for _, set := range [][]table.Aggregate{aggs, {table.Count()}, {table.CountDistinct("k"), table.CountDistinct("s")}, {table.Sum("v").With(kernels.AggregateOptions{MinCount: 400}), table.Count()}} {
		for _, shape := range []string{"even", "empty ranks", "null keys", "no rows"} {
			for _, n := range sizes {
				each(t, n, func(r *rank) error {
					s := newSource(shape, 4, 200, n)
					whole := s.whole(r.backend, "")
					defer whole.Release()
					want, err := whole.Query().Agg(set...).Collect(r)
					if err != nil {
						return err
					}
					defer want.Release()
					d, err := r.spread(s, "")
					if err != nil {
						return err
					}
					defer d.Release()
					got, err := d.Agg(r, set...)
					if err != nil {
						return err
					}
					defer got.Release()
					sameNumbers(r.t, rows(want), rows(got.Local()), 1e-12)
					require.Equal(r.t, int64(1), got.NumRows())
					require.Equal(r.t, Replicated, got.Partitioning().Scheme)
					require.True(r.t, got.Schema().Equal(want.Schema()), "%s %s", got.Schema(), want.Schema())
					return nil
				})
			}
		}
	}
}

// TestMoments: variances are merged without cancellation, also far from 0.
func TestMoments(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	far := expr.Col("v").Add(expr.Lit(1e9))
	aggs := []table.Aggregate{table.Var("v"), table.Std("v"), table.Var(far).As("far"), table.Std("v").With(kernels.AggregateOptions{Ddof: 1}).As("sample"), table.Mean(far).As("mean"), table.Count()}
	for _, few := range []int64{usual.few, 2} {
		groupLimits.few = few
		for _, n := range sizes {
			for _, shape := range []string{"zipf", "null keys", "one key", "even"} {
				each(t, n, func(r *rank) error {
					s := newSource(shape, 9, 300, n)
					whole := s.whole(r.backend, "")
					defer whole.Release()
					want, err := whole.Query().GroupBy("k").Agg(aggs...).Collect(r)
					if err != nil {
						return err
					}
					defer want.Release()
					d, err := r.spread(s, "")
					if err != nil {
						return err
					}
					defer d.Release()
					got, err := d.GroupBy("k").Agg(r, aggs...)
					if err != nil {
						return err
					}
					defer got.Release()
					all, err := r.all(got)
					if err != nil {
						return err
					}
					sameNumbers(r.t, rows(want), all, 1e-8) // at 1e9 a mean has digits down to 1e-7, in the local operator too
					return nil
				})
			}
		}
	}
}

// TestSumsThatFitTogether: a rank's sum may be too great where that of all ranks is not; one
// that is not is an error in the caller's words on every rank.
func TestSumsThatFitTogether(t *testing.T) {
	for _, few := range []bool{true, false} {
		each(t, 3, func(r *rank) error {
			x := []int64{math.MaxInt64, 5, math.MaxInt64, 7}
			if r.id() == 1 {
				x = []int64{-math.MaxInt64, 5, -math.MaxInt64, 7}
			}
			part := ints(r.backend, "k", []int64{1, 2, 1, 2}, "x", x)
			defer part.Release()
			d, err := New(r, r.comm, part)
			if err != nil {
				return err
			}
			defer d.Release()
			two, err := d.Slice(r, 0, 8)
			if err != nil {
				return err
			}
			defer two.Release()
			var keys []any
			var want []string
			if !few {
				keys, want = []any{"k"}, []string{"1|0", "2|24"}
			} else if two, err = two.Filter(r, "k = 1"); err != nil {
				return err
			} else {
				defer two.Release()
				want = []string{"0"}
			}
			got, err := two.GroupBy(keys...).Agg(r, table.Sum("x"))
			if err != nil {
				return err
			}
			defer got.Release()
			all, err := r.all(got)
			if err != nil {
				return err
			}
			if few {
				all = all[:1]
			}
			require.Equal(r.t, want, all)
			_, err = d.GroupBy(keys...).Agg(r, table.Sum("x"))
			require.ErrorContains(r.t, err, "sum(x)")
			return nil
		})
	}
}

// TestAnyOrderIsPartitioned: groups stay by the hash of their keys, and are grouped and made distinct
// by them again without moving.
func TestAnyOrderIsPartitioned(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	groupLimits.few = 3
	for _, n := range []int{2, 4} {
		each(t, n, func(r *rank) error {
			s := newSource("zipf", 8, 500, n)
			whole := s.whole(r.backend, "")
			defer whole.Release()
			want, err := whole.Query().GroupBy("k", "s").Agg(table.Sum("v"), table.First("d")).Collect(r)
			if err != nil {
				return err
			}
			defer want.Release()
			d, err := r.spread(s, "")
			if err != nil {
				return err
			}
			defer d.Release()
			got, err := d.GroupBy("k", "s").AnyOrder().Agg(r, table.Sum("v"), table.First("d"))
			if err != nil {
				return err
			}
			defer got.Release()
			all, err := r.all(got)
			if err != nil {
				return err
			}
			require.ElementsMatch(r.t, rows(want), all)
			require.True(r.t, got.Partitioning().Together("s", "k"), "%s", got.Partitioning())
			sent := r.comm.Stats().Sent.Bytes
			again, err := got.GroupBy("s", "k").AnyOrder().Agg(r, table.Count())
			if err != nil {
				return err
			}
			defer again.Release()
			require.Equal(r.t, got.Counts(), again.Counts())
			require.Less(r.t, r.comm.Stats().Sent.Bytes-sent, uint64(4000), "rows moved")
			return nil
		})
	}
}

// TestGroupsOfFloats: NaNs are one group, and -0 and 0 are one, whatever ranks they are on.
func TestGroupsOfFloats(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	for _, few := range []int64{usual.few, 1} {
		groupLimits.few = few
		each(t, 4, func(r *rank) error {
			x := []float64{math.NaN(), 0, 1}
			if r.id()%2 == 1 {
				x = []float64{math.Float64frombits(0xfff8000000000001), math.Copysign(0, -1), 1}
			}
			part := ints(r.backend, "x", x, "n", []int64{1, 10, 100})
			defer part.Release()
			d, err := New(r, r.comm, part)
			if err != nil {
				return err
			}
			defer d.Release()
			for i, f := range []func() (*Table, error){
				func() (*Table, error) { return d.GroupBy("x").Agg(r, table.Sum("n"), table.Var("n")) },
				func() (*Table, error) { return d.Distinct(r, "x") },
			} {
				got, err := f()
				if err != nil {
					return err
				}
				require.Equal(r.t, int64(3), got.NumRows(), "%d", i)
				got.Release()
			}
			return nil
		})
	}
}

// TestIntegersAreTheSameBits for any number of ranks, also where they are past 2⁵³.
func TestIntegersAreTheSameBits(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	var first []string
	for _, few := range []int64{usual.few, 1} {
		groupLimits.few = few
		for _, n := range sizes {
			each(t, n, func(r *rank) error {
				var k, x []int64
				var u []uint64
				for i := range int64(400) {
					k, x, u = append(k, i%11), append(x, (i*0x5851f42d4c957f2d)>>9), append(u, uint64(i)<<54)
				}
				whole := ints(r.backend, "k", k, "x", x, "u", u)
				defer whole.Release()
				part, err := sliced(whole, int64(400*r.id()/n), int64(400*(r.id()+1)/n))
				if err != nil {
					return err
				}
				defer part.Release()
				d, err := New(r, r.comm, part)
				if err != nil {
					return err
				}
				defer d.Release()
				got, err := d.GroupBy("k").Agg(r, table.Sum("x"), table.Mean("x"), table.Max("u"), table.Mean(expr.Col("u").Mod(uint64(1<<58))).As("mean_u"), table.SumWrapping("u"))
				if err != nil {
					return err
				}
				defer got.Release()
				all, err := r.all(got)
				if err != nil {
					return err
				}
				if r.id() == 0 {
					if first == nil {
						first = all
					}
					require.Equal(r.t, first, all, fmt.Sprint(n))
				}
				return nil
			})
		}
	}
}

// TestDescribe: every rank has the statistics of all rows, of a table that is spread by a key too.
func TestDescribe(t *testing.T) {
	everyShape(t, 200, func(r *rank, s *source) error {
		whole := s.whole(r.backend, "")
		defer whole.Release()
		want, err := whole.Query().Describe(r)
		if err != nil {
			return err
		}
		defer want.Release()
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		hashed, err := d.Shuffle(r, Hash("k"))
		if err != nil {
			return err
		}
		defer hashed.Release()
		for _, d := range []*Table{d, hashed} {
			got, err := d.Describe(r)
			if err != nil {
				return err
			}
			require.Equal(r.t, Replicated, got.Partitioning().Scheme)
			require.Equal(r.t, names(want.Schema()), names(got.Schema()))
			sameNumbers(r.t, rows(want), rows(got.Local()), 1e-12)
			got.Release()
		}
		return nil
	})
}
