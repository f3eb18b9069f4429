package distributed

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// decimals makes a column of decimals, null where valid says so.
func decimals(t *testing.T, typ *arrow.Decimal128Type, n int, value func(i int) (v decimal128.Num, valid bool)) *memory.Column {
	b := array.NewDecimal128Builder(arrowmem.DefaultAllocator, typ)
	defer b.Release()
	for i := range n {
		if v, valid := value(i); valid {
			b.Append(v)
		} else {
			b.AppendNull()
		}
	}
	a := b.NewArray()
	defer a.Release()
	c, err := memory.FromArrow(a)
	require.NoError(t, err)
	return c
}

// wideDecimal is a number past 2⁶⁴, of either sign.
func wideDecimal(i int) decimal128.Num {
	v := decimal128.New(int64(i%7), uint64(i)*0x9e3779b97f4a7c15)
	if i%3 == 0 {
		return v.Negate()
	}
	return v
}

// products are of numbers whose product is past 2⁶³ in parts of the rows.
var products = []table.Aggregate{table.Product("p"), table.Product("f").As("pf"), table.Sum("x").As("sum"), table.Count()}

var decimalAggregates = [][]table.Aggregate{
	{table.Sum("x"), table.Min("x"), table.Max("x"), table.First("x"), table.Last("x"), table.Count("x").As("n"), table.Sum("w").As("sum_w"), table.Min("w").As("least_w")},
	{table.CountDistinct("x"), table.Sum("x"), table.Mean("w"), table.Max("x")},
	{table.CountDistinct("x"), table.CountDistinct("w").As("several")}, // rows go once
	{table.Sum("x").With(kernels.AggregateOptions{MinCount: 30}), table.Mean("x").With(kernels.AggregateOptions{MinCount: 30})},
	products,
	means,
}

// means are floats of exact sums: those of parts are the local operator's but for the last digit.
var means = []table.Aggregate{table.Mean("x"), table.Mean("w").As("mean_w"), table.Count()}

// TestDecimalsAreTheSameBits: aggregates of decimals, and products, have the types and the bits of the local operator's on any number of ranks, in groups and of all
// rows, also where nulls are, and where the sum or the product of a part does not fit.
func TestDecimalsAreTheSameBits(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	for _, few := range []int64{usual.few, 1} {
		groupLimits.few = few
		for _, n := range sizes {
			each(t, n, func(r *rank) error {
				const rows = 330
				var k, p []int64
				var f []float64
				for i := range rows {
					k, p, f = append(k, int64(i%11)), append(p, []int64{-3, 1, 7, 1, 1, 2}[i%6]), append(f, []float64{0.5, 2, 1, 4}[i%4])
					if i/11 == rows/11-1 && i%2 == 0 {
						p[i] = 0 // that of the parts before is past 2⁶³ alone
					}
				}
				x := decimals(r.t, &arrow.Decimal128Type{Precision: 30, Scale: 3}, rows, func(i int) (decimal128.Num, bool) { return wideDecimal(i % 50), i%5 > 0 })
				defer x.Release()
				w := decimals(r.t, &arrow.Decimal128Type{Precision: 9, Scale: 2}, rows, func(i int) (decimal128.Num, bool) {
					return decimal128.FromI64(int64(i*i%99991) - 40000), i%11 != 4
				})
				defer w.Release()
				whole, err := table.New(r.backend, table.Column("k", k), table.Column("x", x), table.Column("w", w), table.Column("p", p), table.Column("f", f))
				if err != nil {
					return err
				}
				defer whole.Release()
				part, err := sliced(whole, int64(rows*r.id()/n), int64(rows*(r.id()+1)/n))
				if err != nil {
					return err
				}
				defer part.Release()
				d, err := New(r, r.comm, part)
				if err != nil {
					return err
				}
				defer d.Release()
				for i, aggregates := range decimalAggregates {
					for _, keys := range [][]any{{"k"}, {"w"}, nil} {
						if err := r.aggregates(d, whole, fmt.Sprintf("aggregates %d by %v", i, keys), keys, aggregates); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
	}
}

// aggregates holds an Agg against the local one, which may refuse.
func (r *rank) aggregates(d *Table, whole *table.Table, name string, keys []any, aggregates []table.Aggregate) error {
	want, wrong := whole.Query().GroupBy(keys...).Agg(aggregates...).Collect(r)
	defer want.Release()
	got, err := d.GroupBy(keys...).Agg(r, aggregates...)
	if wrong != nil {
		require.Error(r.t, err, "%s: the local operator says %v", name, wrong)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer got.Release()
	all, err := r.all(got)
	if err != nil {
		return err
	}
	if got.by.Scheme == Replicated {
		all = all[:1]
	}
	if &aggregates[0] == &means[0] {
		sameNumbers(r.t, rows(want), all, 1e-15)
	} else {
		require.Equal(r.t, rows(want), all, "%s", name)
	}
	require.True(r.t, got.Schema().Equal(want.Schema()), "%s: %s in place of %s", name, got.Schema(), want.Schema())
	return nil
}

// TestDecimalsThatFitTogether: the sum of a rank's part may have more than 38 digits where that of all ranks has not; one that has too many on all is an error in the
// caller's words on every rank. So with products.
func TestDecimalsThatFitTogether(t *testing.T) {
	most := decimal128.GetMaxValue(38)
	for _, keys := range [][]any{{"k"}, nil} {
		each(t, 3, func(r *rank) error {
			x := decimals(r.t, &arrow.Decimal128Type{Precision: 38, Scale: 0}, 4, func(i int) (decimal128.Num, bool) {
				v := map[bool]decimal128.Num{true: most, false: decimal128.FromI64(int64(5 + i))}[i%2 == 0]
				if r.id() == 1 {
					v = v.Negate()
				}
				return v, true
			})
			defer x.Release()
			p := [][]int64{{math.MaxInt64, 1, 3, 1}, {1, 1, 1, 1}, {0, 1, 1, 1}}[r.id()]
			part, err := table.New(r.backend, table.Column("k", []int64{1, 2, 1, 2}), table.Column("x", x), table.Column("p", p))
			if err != nil {
				return err
			}
			defer part.Release()
			d, err := New(r, r.comm, part)
			if err != nil {
				return err
			}
			defer d.Release()
			two, err := d.Head(r, 8)
			if err != nil {
				return err
			}
			defer two.Release()
			for _, c := range []struct {
				d    *Table
				agg  table.Aggregate
				want []string
			}{
				{two, table.Sum("x"), map[bool][]string{true: {"1|0", "2|0"}, false: {"0"}}[keys != nil]},
				{d, table.Product("p"), map[bool][]string{true: {"1|0", "2|1"}, false: {"0"}}[keys != nil]},
			} {
				got, err := c.d.GroupBy(keys...).Agg(r, c.agg)
				if err != nil {
					return err
				}
				all, err := r.all(got)
				got.Release()
				if err != nil {
					return err
				}
				require.Equal(r.t, c.want, all[:len(c.want)])
			}
			_, err = d.GroupBy(keys...).Agg(r, table.Sum("x"))
			require.ErrorContains(r.t, err, "sum(x)")
			_, err = two.GroupBy(keys...).Agg(r, table.Product("p"))
			require.ErrorContains(r.t, err, "product(p)")
			return nil
		})
	}
}
