package table

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// spread is a table of columns whose variances and distinct values are asked for: floats near 0 and far from it, also NaN and
// zeros of both signs, integers and decimals that float64 does not tell apart, texts; group 3 of few has no values, and keys many, one and rise.
func spread(t *testing.T, b *kernels.Backend, rows int, seed uint64) *Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 77))
	x, far, odd := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	i8, i64, u64, cents := make([]int8, rows), make([]int64, rows), make([]uint64, rows), make([]int64, rows)
	few, many, rise, one := make([]int64, rows), make([]int64, rows), make([]int64, rows), make([]int64, rows)
	s, valid := make([]string, rows), make([]bool, rows)
	for i := range rows {
		few[i], many[i], rise[i] = r.Int64N(5), r.Int64N(int64(rows)/2+1), int64(i/7)
		x[i], far[i], odd[i] = r.NormFloat64(), 1e6+r.NormFloat64(), float64(r.IntN(20))
		if i%97 == 5 && few[i] == 2 {
			odd[i] = math.NaN()
		} else if odd[i] == 0 {
			odd[i] = math.Copysign(0, float64(i%2)-0.5)
		}
		i8[i], i64[i] = int8(r.IntN(256)-128), math.MinInt64+few[i]<<61+r.Int64N(40)
		u64[i], cents[i] = math.MaxUint64-uint64(r.IntN(9)), math.MaxInt64-few[i]*1e15-r.Int64N(3000)
		s[i], valid[i] = strconv.Itoa(r.IntN(30)), few[i] != 3 && r.IntN(8) > 0
	}
	whole, err := New(b, Column("x", x).Valid(valid), Column("far", far).Valid(valid), Column("odd", odd).Valid(valid), Column("i8", i8).Valid(valid), Column("i64", i64).Valid(valid),
		Column("u64", u64).Valid(valid), Column("cents", cents).Valid(valid), Column("few", few), Column("many", many), Column("rise", rise), Column("one", one), Column("s", s).Valid(valid))
	require.NoError(t, err)
	t.Cleanup(whole.Release)
	out, err := From(whole).WithColumn("d", expr.Col("cents").Cast(&arrow.Decimal128Type{Precision: 24, Scale: 2})).
		WithColumn("wide", expr.Col("cents").Cast(&arrow.Decimal128Type{Precision: 30, Scale: 2})).
		WithColumn("none", expr.Lit(nil).Cast(arrow.PrimitiveTypes.Float64)).Collect(t.Context())
	require.NoError(t, err)
	t.Cleanup(out.Release)
	return out
}

// spreads are variances of some columns, also beside what they share parts with.
func spreads(columns ...string) (all []Aggregate) {
	for i, c := range columns {
		all = append(all, Var(c), Std(c).With(kernels.AggregateOptions{Ddof: 1}).As("sample_"+c), Var(c).With(kernels.AggregateOptions{Ddof: 3}).As("three_"+c))
		if i%2 == 0 {
			all = append(all, Std(c), Mean(c), Count(c))
		}
	}
	return all
}

// statePlans are aggregations that are made of variances and counts of distinct values, alone and beside others.
func statePlans(table *Table) map[string]*Query {
	q := From(table)
	distinct := []Aggregate{CountDistinct("odd"), CountDistinct("s"), CountDistinct("i8"), CountDistinct("s").As("again"), CountDistinct("none")}
	both := append(append(spreads("x", "i64"), distinct...), Count(), Min("far"), First("s"), Any(expr.Col("i8").Gt(3)).As("any"))
	return map[string]*Query{
		"floats":             q.GroupBy("few").Agg(spreads("x", "far", "odd", "none")...),
		"integers":           q.GroupBy("few").Agg(spreads("i8", "i64", "u64", "many")...),
		"decimals":           q.GroupBy("few").Agg(append(spreads("d"), Sum("i8"))...),
		"wide decimals":      q.GroupBy("few").Agg(spreads("wide")...),
		"distinct":           q.GroupBy("few").Agg(distinct...),
		"distinct alone":     q.GroupBy("s").Agg(CountDistinct("many")),
		"both":               q.GroupBy("few").Agg(both...),
		"many groups":        q.GroupBy("many").Agg(both...),
		"one group":          q.GroupBy("one").Agg(both...),
		"no keys":            q.Agg(both...),
		"no keys, distinct":  q.Agg(CountDistinct("s"), CountDistinct("odd")),
		"two keys":           q.GroupBy("few", "s").Agg(both...),
		"rising":             q.GroupBy("rise").Agg(both...),
		"rising, no counts":  q.GroupBy("rise").Agg(spreads("x", "d")...),
		"a mask":             q.Filter("i8 < 90 and odd <> 3").GroupBy("s").Agg(both...),
		"few pass":           q.Filter("few = 1").GroupBy("s").Agg(both...),
		"null keys left out": q.GroupBy("s").DropNullKeys().Agg(both...),
		"in any order":       q.GroupBy("many").AnyOrder().Agg(both...).Sort(Asc("many")),
		"no rows":            q.Filter("few > 9").Agg(both...),
		"options":            q.GroupBy("few").Agg(Std("x").With(kernels.AggregateOptions{MinCount: 60}), CountDistinct("s"), Sum("i8").With(kernels.AggregateOptions{KeepNulls: true})),
	}
}

// Variances, deviations and counts of distinct values that are merged from parts are those of kernels over all rows at once,
// for groups without values, of one row, of all rows, and of numbers that float64 does not tell apart.
func TestMergedStates(t *testing.T) {
	b := testBackend(t)
	rows, sizes := 1500, []string{"1", "16", "100"}
	if !backends.OnHost() {
		rows, sizes = 400, sizes[1:2]
	}
	whole := spread(t, b, rows, 1)
	for _, table := range []*Table{whole, cut(t, whole)} {
		for name, q := range statePlans(table) {
			t.Setenv(morselVariable, "")
			want, err := q.Collect(t.Context())
			require.NoError(t, err, name)
			for _, size := range sizes {
				t.Setenv(morselVariable, size)
				got, err := q.Collect(t.Context())
				require.NoError(t, err, "%s, morsels of %s", name, size)
				closeRows(t, fmt.Sprintf("%s, morsels of %s", name, size), want, got)
				got.Release()
			}
			want.Release()
		}
	}
}

// closeRows holds tables against each other, each float within 1e-9 of itself: variances of numbers 1e6 times as far from 0 as from each
// other have so many digits.
func closeRows(t *testing.T, name string, want, got *Table) {
	t.Helper()
	require.Equal(t, want.NumRows(), got.NumRows(), name)
	if want.NumRows() == 0 {
		return
	}
	w, g := wholeColumns(t, want), wholeColumns(t, got)
	for i := range w {
		field := want.Schema().Field(i)
		if _, float := w[i].(*array.Float64); !float {
			require.Truef(t, array.Equal(w[i], g[i]), "%s: column %s: %v, not %v", name, field.Name, g[i], w[i])
			continue
		}
		for row := range w[i].Len() {
			require.Equal(t, w[i].IsNull(row), g[i].IsNull(row), "%s: %s of row %d", name, field.Name, row)
			if w[i].IsNull(row) {
				continue
			}
			a, c := floatAt(w[i], row), floatAt(g[i], row)
			if !(math.IsNaN(a) && math.IsNaN(c)) {
				require.InDelta(t, a, c, 1e-9*math.Abs(a)+1e-13, "%s: %s of row %d", name, field.Name, row)
			}
		}
	}
}

// Workers that merge variances and distinct values give the same bits, however many there are.
func TestWorkersMergeStatesToTheSameBits(t *testing.T) {
	b := testBackend(t)
	if !backends.OnHost() {
		return // where no state is merged
	}
	t.Setenv(morselVariable, "500")
	whole := spread(t, b, 20_000, 2)
	sameBits(t, statePlans(cut(t, whole)))
}

// The memory that variances and counts of distinct values take grows with groups and values, not with rows.
func TestMergedStatesTakeNoMemoryForRows(t *testing.T) {
	if !backends.OnHost() {
		return // where rows are kept until the end
	}
	t.Setenv(morselVariable, "512")
	peak := func(batches int) int64 {
		var counted *memory.Counted
		b := backendOver(t, func(a memory.Allocator) memory.Allocator {
			counted = memory.NewCounted(a)
			return counted
		})
		const rows = 4096
		k, x, y, s := make([]int64, rows), make([]float64, rows), make([]int64, rows), make([]int64, rows)
		for i := range rows {
			k[i], x[i], y[i], s[i] = int64(i%10), float64(i), int64(i%13), int64(i%17)
		}
		part, err := New(b, Column("k", k), Column("x", x), Column("y", y), Column("s", s))
		require.NoError(t, err)
		defer part.Release()
		var chunks []*Batch
		for range batches {
			chunks = append(chunks, part.Chunks()[0].Retain())
		}
		all, err := NewTable(b, part.Schema(), chunks)
		require.NoError(t, err)
		defer all.Release()
		before := counted.Stats().Bytes
		got, err := From(all).WithColumn("z", "x * 2").WithColumn("u", "y + 1").GroupBy("k").Agg(Std("z"), Var("u"), CountDistinct("u"), CountDistinct("s")).Collect(context.Background())
		require.NoError(t, err)
		require.EqualValues(t, 10, got.NumRows())
		got.Release()
		return counted.Stats().Peak - before
	}
	few, many := peak(20), peak(200)
	require.Less(t, many, few+few/2, "%d bytes of 20 batches", few)
}
